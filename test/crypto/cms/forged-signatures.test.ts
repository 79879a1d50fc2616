import { constants, generateKeyPairSync, hash, privateEncrypt } from 'node:crypto';
import { derNull, derOctetString, derOid, derSequence } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { buildSignedData, parseSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { type Identity, identityOf } from '../identities.js';
import { content, verifyCode } from './handmade-signed-data.js';

const SIZE = 256;
const digestInfo = derSequence(
  derSequence(derOid(Oid.sha256), derNull()),
  derOctetString(hash('sha256', content, 'buffer')),
);

function block(info: Buffer, { type = 1, filling = 0xff, after = Buffer.alloc(0) } = {}): Buffer {
  const padding = Buffer.alloc(SIZE - 3 - info.length - after.length, filling);
  return Buffer.concat([Buffer.from([0, type]), padding, Buffer.from([0]), info, after]);
}

function cubeRoot(value: bigint): bigint {
  let [low, high] = [0n, 1n << 700n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (middle ** 3n <= value) low = middle;
    else high = middle - 1n;
  }
  return low;
}

describe('verifySignedData refuses an RSA signature', () => {
  let signer: Identity;

  beforeAll(() => {
    const exponent = { modulusLength: 2048, publicExponent: 3 };
    signer = identityOf(generateKeyPairSync('rsa', exponent));
  });

  const withSignature = (signature: Buffer): Buffer => {
    const der = buildSignedData({ content, signer, attributes: false });
    const [info] = parseSignedData(der).signers;
    if (info === undefined) throw new Error('no signer');
    signature.copy(der, der.indexOf(info.signature));
    return der;
  };
  const signBlock = (padded: Buffer): Buffer =>
    privateEncrypt({ key: signer.privateKey, padding: constants.RSA_NO_PADDING }, padded);

  it.each<[string, Buffer]>([
    ['with the block type of encryption', block(digestInfo, { type: 2 })],
    ['with block type zero', block(digestInfo, { type: 0, filling: 0 })],
    ['with padding that is not all ones', block(digestInfo, { filling: 0xfe })],
    ['with garbage after the digest', block(digestInfo, { after: Buffer.alloc(190, 7) })],
    ['with one octet after the digest', block(digestInfo, { after: Buffer.alloc(1) })],
    ['of the digest without its algorithm', block(hash('sha256', content, 'buffer'))],
    [
      'that names another digest',
      block(
        derSequence(
          derSequence(derOid(Oid.sha384), derNull()),
          derOctetString(hash('sha256', content, 'buffer')),
        ),
      ),
    ],
    [
      'with garbage in the parameters of the digest',
      block(
        derSequence(
          derSequence(derOid(Oid.sha256), derOctetString(Buffer.alloc(100, 9))),
          derOctetString(hash('sha256', content, 'buffer')),
        ),
      ),
    ],
    ['of other content', block(Buffer.concat([digestInfo.subarray(0, -1), Buffer.from([0])]))],
  ])('%s', (_what, padded) => {
    expect(verifyCode(withSignature(signBlock(padded)))).toBe('invalid_signature');
  });

  it('that is made without the key, as a cube root, for the exponent 3', () => {
    const head = Buffer.concat([
      Buffer.from('0001', 'hex'),
      Buffer.alloc(8, 0xff),
      Buffer.from([0]),
      digestInfo,
    ]);
    const target = Buffer.concat([head, Buffer.alloc(SIZE - head.length, 0xff)]);
    const root = cubeRoot(BigInt(`0x${target.toString('hex')}`));
    const cube = (root ** 3n).toString(16).padStart(SIZE * 2, '0');
    // Accepted by a reader that stops after the digest.
    expect(cube.startsWith(head.toString('hex'))).toBe(true);
    const signature = Buffer.from(root.toString(16).padStart(SIZE * 2, '0'), 'hex');
    expect(verifyCode(withSignature(signature))).toBe('invalid_signature');
  });

  it('of zero, one and all ones', () => {
    const one = Buffer.alloc(SIZE);
    one[SIZE - 1] = 1;
    for (const signature of [Buffer.alloc(SIZE), one, Buffer.alloc(SIZE, 0xff)]) {
      expect(verifyCode(withSignature(signature))).toBe('invalid_signature');
    }
  });

  it('but not one that is made by the rules', () => {
    expect(verifyCode(withSignature(signBlock(block(digestInfo))))).toBeUndefined();
  });
});
