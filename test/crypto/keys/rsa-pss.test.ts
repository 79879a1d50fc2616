import { constants, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  derBitString,
  derContext,
  derInteger,
  derNull,
  derOid,
  derSequence,
  readDer,
  wholeOctets,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import {
  createSignature,
  type DigestName,
  verifySignature,
} from '../../../src/crypto/keys/algorithms.js';
import {
  exportPublicKey,
  generateEcKeyPair,
  generateRsaKeyPair,
  importPublicKey,
  type KeyPair,
} from '../../../src/crypto/keys/keys.js';
import {
  type PssParameters,
  pssAlgorithm,
  readPssParameters,
} from '../../../src/crypto/keys/rsa-parameters.js';
import { createPssSignature, ownPssParameters } from '../../../src/crypto/keys/rsa-pss.js';
import { codeOf, mutations } from '../identities.js';

const signed = Buffer.from('what is signed');
const padding = constants.RSA_PKCS1_PSS_PADDING;
const ours = ownPssParameters('sha256');

function parametersOf(pss: PssParameters): Buffer {
  const members = readDer(pssAlgorithm(pss)).sequence();
  members.oid();
  return members.next().raw;
}

/** The same RSA key, restricted to PSS with these parameters (RFC 4055 1.2). */
function pssKey(key: KeyObject, parameters: readonly Buffer[]): KeyObject {
  const info = readDer(exportPublicKey(key)).sequence();
  info.sequence();
  const bits = derBitString(wholeOctets(info.next()));
  const algorithm = derSequence(derOid(Oid.rsassaPss), ...parameters);
  return importPublicKey(derSequence(algorithm, bits));
}

describe('RSASSA-PSS', () => {
  let rsa: KeyPair;
  let ec: KeyPair;

  beforeAll(async () => {
    rsa = await generateRsaKeyPair();
    ec = await generateEcKeyPair();
  });

  const signWith = (digest: DigestName, saltLength: number): Buffer =>
    sign(digest, signed, { key: rsa.privateKey, padding, saltLength });

  interface Check {
    publicKey?: KeyObject;
    digest?: DigestName;
    signature?: Buffer;
    algorithm?: string;
  }

  const isRight = (parameters: Buffer | undefined, check: Check = {}): boolean =>
    verifySignature({
      algorithm: Oid.rsassaPss,
      parameters,
      publicKey: rsa.publicKey,
      signed,
      signature: signWith('sha256', 32),
      ...check,
    });

  it('is refused without parameters, or with others than were used', () => {
    expect(isRight(undefined)).toBe(false);
    expect(isRight(derNull())).toBe(false);
    expect(isRight(derSequence())).toBe(false);
    expect(isRight(parametersOf({ ...ours, saltLength: 31 }))).toBe(false);
    expect(isRight(parametersOf({ ...ours, saltLength: 0 }))).toBe(false);
    expect(isRight(parametersOf({ ...ours, mgf1Digest: 'sha1' }))).toBe(false);
    expect(isRight(parametersOf(ownPssParameters('sha512')))).toBe(false);
    expect(isRight(parametersOf(ours))).toBe(true);
  });

  it('is refused when the field beside it names another digest', () => {
    expect(isRight(parametersOf(ours), { digest: 'sha1' })).toBe(false);
    expect(isRight(parametersOf(ours), { digest: 'sha256' })).toBe(true);
  });

  it('is refused for a key of another kind, and PKCS #1 v1.5 in its name', () => {
    expect(isRight(parametersOf(ours), { publicKey: ec.publicKey })).toBe(false);
    const signature = createSignature(rsa.privateKey, 'sha256', signed);
    expect(isRight(parametersOf(ours), { signature })).toBe(false);
    expect(isRight(undefined, { algorithm: Oid.sha256WithRsa })).toBe(false);
  });

  it('accepts every digest, salt and mask generation function of SHA-1 and SHA-2', () => {
    for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
      for (const saltLength of [0, 20, 32, 64]) {
        const signature = signWith(digest, saltLength);
        const parameters = parametersOf({ digest, mgf1Digest: digest, saltLength });
        expect(isRight(parameters, { signature, digest })).toBe(true);
      }
      const signature = createPssSignature(rsa.privateKey, digest, signed);
      expect(isRight(parametersOf(ownPssParameters(digest)), { signature })).toBe(true);
    }
  });

  it('accepts another digest for the mask than for the content, as Java writes it', () => {
    const mixed = { digest: 'sha256', mgf1Digest: 'sha1', saltLength: 32 } as const;
    const { privateKey, publicKey } = generateKeyPairSync('rsa-pss', {
      modulusLength: 2048,
      hashAlgorithm: 'sha256',
      mgf1HashAlgorithm: 'sha1',
    });
    const signature = sign('sha256', signed, { key: privateKey, padding, saltLength: 32 });
    const info = readDer(publicKey.export({ format: 'der', type: 'spki' })).sequence();
    info.sequence();
    const key = wholeOctets(info.next());
    const plain = createPublicKey({ key, format: 'der', type: 'pkcs1' });
    expect(isRight(parametersOf(mixed), { signature, publicKey: plain })).toBe(true);
    expect(isRight(parametersOf(ours), { signature, publicKey: plain })).toBe(false);
    expect(isRight(parametersOf(mixed), { signature, publicKey })).toBe(true);
  });

  describe('with a key that is for it alone', () => {
    it('accepts nothing else', () => {
      const publicKey = pssKey(rsa.publicKey, []);
      const signature = createSignature(rsa.privateKey, 'sha256', signed);
      const algorithm = Oid.sha256WithRsa;
      expect(isRight(undefined, { publicKey, signature, algorithm })).toBe(false);
      expect(isRight(undefined, { publicKey, signature, algorithm: Oid.rsaEncryption })).toBe(
        false,
      );
    });

    it('accepts what the key allows, and at least its salt', () => {
      const free = pssKey(rsa.publicKey, []);
      expect(isRight(parametersOf(ours), { publicKey: free })).toBe(true);
      const bound = pssKey(rsa.publicKey, [parametersOf(ours)]);
      const longer = { publicKey: bound, signature: signWith('sha256', 40) };
      const shorter = { publicKey: bound, signature: signWith('sha256', 20) };
      const other = { publicKey: bound, signature: signWith('sha512', 64) };
      expect(isRight(parametersOf(ours), { publicKey: bound })).toBe(true);
      expect(isRight(parametersOf({ ...ours, saltLength: 40 }), longer)).toBe(true);
      expect(isRight(parametersOf({ ...ours, saltLength: 20 }), shorter)).toBe(false);
      expect(isRight(parametersOf(ownPssParameters('sha512')), other)).toBe(false);
    });
  });

  it('signs with RSA keys only', () => {
    expect(codeOf(() => createPssSignature(ec.privateKey, 'sha256', signed))).toBe(
      'invalid_certificate',
    );
  });
});

describe('readPssParameters', () => {
  const digest = (oid: string, ...parameters: Buffer[]): Buffer =>
    derSequence(derOid(oid), ...parameters);
  const mgf1 = (hash: Buffer, oid: string = Oid.mgf1): Buffer => derSequence(derOid(oid), hash);

  it('refuses unsupported digests, masks, salts and trailers', () => {
    const refused = [
      [derContext(0, digest('1.2.840.113549.2.5'))],
      [derContext(0, digest(Oid.sha256, derInteger(1)))],
      [derContext(0, digest(Oid.sha256), digest(Oid.sha256))],
      [derContext(1, mgf1(digest(Oid.sha256), '1.2.3'))],
      [derContext(1, mgf1(digest('1.2.840.113549.2.5')))],
      [derContext(2, derInteger(1025))],
      [derContext(2, Buffer.from('0201ff', 'hex'))],
      [derContext(3, derInteger(2))],
      [derContext(2, derInteger(20)), derContext(1, mgf1(digest(Oid.sha256)))],
      [derContext(4, derInteger(1))],
    ];
    for (const members of refused) {
      expect(codeOf(() => readPssParameters(derSequence(...members)))).toBe('invalid_asn1');
    }
    const trailing = Buffer.concat([derSequence(), derNull()]);
    expect(codeOf(() => readPssParameters(trailing))).toBe('invalid_asn1');
  });

  it('throws nothing but an AppError for 500 mutations', () => {
    for (const mutation of mutations(parametersOf(ours), 500)) {
      expect([undefined, 'invalid_asn1']).toContain(codeOf(() => readPssParameters(mutation)));
    }
  });

  it('fills in the defaults, and reads what it wrote', () => {
    const defaults = { digest: 'sha1', mgf1Digest: 'sha1', saltLength: 20 } as const;
    expect(readPssParameters(derSequence())).toEqual(defaults);
    expect(parametersOf(defaults)).toEqual(derSequence());
    const explicit = derSequence(
      derContext(0, digest(Oid.sha256)),
      derContext(1, mgf1(digest(Oid.sha384, derNull()))),
      derContext(2, derInteger(7)),
      derContext(3, derInteger(1)),
    );
    const read = { digest: 'sha256', mgf1Digest: 'sha384', saltLength: 7 } as const;
    expect(readPssParameters(explicit)).toEqual(read);
    expect(readPssParameters(parametersOf(read))).toEqual(read);
  });
});
