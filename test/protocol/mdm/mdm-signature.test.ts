import { generateKeyPair, KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { AppError } from '../../../src/errors.js';
import { MdmSignature } from '../../../src/protocol/mdm/mdm-signature.js';
import { SignerCache } from '../../../src/protocol/mdm/signer-cache.js';
import { content, handmade, rightAttributes } from '../../crypto/cms/handmade-signed-data.js';
import {
  ecIdentity,
  fixture,
  type Identity,
  identityOf,
  mutations,
  rsaIdentity,
  seededRandom,
} from '../../crypto/identities.js';

const body = fixture('checkin/Authenticate.imac-10.12.6.plist');
const notNow = fixture('response/NotNow.ios-11.3.1.plist');
const header = (name: string): string =>
  fixture(`signature/mdm-signature.${name}.b64`).toString('latin1').trim();

interface Refusal {
  code: string;
  status: number;
  message: string;
}

function refusalOf(value: string, bytes: Buffer, cache = new SignerCache(9)): Refusal | undefined {
  try {
    MdmSignature.read(value, cache).verify(bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: error.code, status: error.status, message: error.message };
  }
}

const refusal = {
  code: 'invalid_signature',
  status: 400,
  message: 'the message signature is not valid',
};

describe('MdmSignature', () => {
  let signer: Identity;
  beforeAll(async () => {
    signer = await rsaIdentity();
  });

  const sign = (options: Partial<Parameters<typeof buildSignedData>[0]> = {}): string =>
    buildSignedData({ content: body, signer, detached: true, ...options }).toString('base64');

  it.each([
    ['nothing', ''],
    ['no base64', '*'],
    ['white space within', `${header('made-1').slice(0, 64)}\n${header('made-1').slice(64)}`],
    ['the URL alphabet', header('made-1').replace(/\//g, '_')],
    ['lost padding', header('made-2').slice(0, -1)],
    ['more than 16 KB', 'A'.repeat(16_388)],
    ['another value after it', `${header('made-1')}, ${header('made-1')}`],
  ])('refuses a header of %s', (_what, value) => {
    expect(refusalOf(value, body)).toEqual(refusal);
  });

  it('refuses the signature over another body', () => {
    expect(refusalOf(header('made-1'), notNow)).toEqual(refusal);
    expect(refusalOf(header('made-2'), body)).toEqual(refusal);
    expect(refusalOf(header('made-1'), Buffer.alloc(0))).toEqual(refusal);
    expect(refusalOf(header('real-1'), body)).toEqual(refusal);
  });

  it('refuses a body with any octet altered, added or removed', () => {
    const cache = new SignerCache();
    for (const name of ['made-1', 'made-2']) {
      const signed = name === 'made-1' ? body : notNow;
      for (let at = 0; at < signed.length; at += 1) {
        const altered = Buffer.from(signed);
        altered[at] = (altered[at] ?? 0) ^ 1;
        expect(refusalOf(header(name), altered, cache)).toEqual(refusal);
      }
      const longer = Buffer.concat([signed, Buffer.from('\n')]);
      expect(refusalOf(header(name), longer, cache)).toEqual(refusal);
      expect(refusalOf(header(name), signed.subarray(0, -1), cache)).toEqual(refusal);
    }
  });

  it('refuses a signature that carries another content', () => {
    expect(refusalOf(sign({ content: notNow, detached: false }), body)).toEqual(refusal);
  });

  it('refuses truncation at any length', () => {
    const whole = Buffer.from(header('made-1'), 'base64');
    for (let length = 0; length < whole.length; length += 1) {
      const short = whole.subarray(0, length).toString('base64');
      expect(refusalOf(short, body)).toEqual(refusal);
    }
  });

  it('throws nothing but invalid_signature for 500 mutations, and caches no wrong signer', () => {
    const random = seededRandom(9);
    for (const name of ['made-1', 'made-2', 'real-1']) {
      const cache = new SignerCache();
      for (const mutation of mutations(Buffer.from(header(name), 'base64'), 500, random(1000))) {
        const result = refusalOf(mutation.toString('base64'), body, cache);
        if (result !== undefined) expect(result).toEqual(refusal);
      }
      if (name !== 'made-1') expect(cache.size).toBe(0);
    }
  });

  it('refuses several signers, and none', async () => {
    const identity = await ecIdentity();
    const attributes = rightAttributes();
    const refused = [0, 1, 2].map((signers) => {
      const message = handmade(identity, { attributes, signers });
      return refusalOf(message.toString('base64'), content);
    });
    expect(refused).toEqual([refusal, undefined, refusal]);
  });

  it('keeps the reason as the cause', () => {
    expect.assertions(2);
    try {
      MdmSignature.read(header('made-1'), new SignerCache()).verify(notNow);
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).cause).toMatchObject({
        message: 'signature refused: message digest',
      });
    }
  });

  it('accepts SHA-256 with attributes, and SHA-1 without, as agents send them', () => {
    const cache = new SignerCache();
    const first = MdmSignature.read(header('made-1'), cache).verify(body);
    expect(first.certificate.subject).toBe('CN=66ADE930-5FDF-5EC4-8429-15640684C489');
    expect(first.fingerprint.toString('hex')).toBe(
      '1d11485b9becdd30882591983cdd3be654a6b531060319647c8aea8a0d0b4ad0',
    );
    const second = MdmSignature.read(header('made-2'), cache).verify(notNow);
    expect(second.certificate.commonName).toBe('1c111c111c111c111c111c111c111c111c111c11');
  });

  it('accepts RSA and EC signers, with every digest, attached or detached', async () => {
    const signers = [signer, await ecIdentity('P-256'), await ecIdentity('P-384')];
    for (const one of signers) {
      for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
        for (const attributes of [true, false]) {
          const options = { signer: one, digest, attributes, detached: attributes };
          const verified = MdmSignature.read(sign(options), new SignerCache()).verify(body);
          expect(verified.fingerprint).toEqual(one.certificate.fingerprint);
        }
      }
    }
  });

  it('returns the signer, not another certificate in the message', async () => {
    const other = await ecIdentity();
    const value = sign({ certificates: [other.certificate] });
    const cache = new SignerCache();
    expect(MdmSignature.read(value, cache).verify(body).fingerprint).toEqual(
      signer.certificate.fingerprint,
    );
    expect(cache.size).toBe(1);
  });

  it('caches a signer and the decision about it', () => {
    const cache = new SignerCache();
    const first = MdmSignature.read(sign(), cache).verify(body);
    first.trust = { epoch: 7, issuerTrust: undefined };
    const second = MdmSignature.read(sign({ content: notNow }), cache).verify(notNow);
    expect(second.fingerprint).toEqual(first.fingerprint);
    expect(second.trust).toEqual({ epoch: 7, issuerTrust: undefined });
  });

  it('caches no more signers than its limit', async () => {
    const cache = new SignerCache(2);
    for (const one of [signer, await ecIdentity(), await ecIdentity(), await ecIdentity()]) {
      MdmSignature.read(sign({ signer: one }), cache).verify(body);
    }
    expect(cache.size).toBe(2);
  });

  it('verifies alike with a key that is new, read for one use, kept or forgotten', async () => {
    const cache = new SignerCache(9, 1);
    const ec = await ecIdentity('P-384');
    const kinds: { name: string; value: string; fingerprint: Buffer }[] = [
      { name: 'RSA', value: sign(), fingerprint: signer.certificate.fingerprint },
      { name: 'PSS', value: sign({ scheme: 'pss' }), fingerprint: signer.certificate.fingerprint },
      { name: 'EC', value: sign({ signer: ec }), fingerprint: ec.certificate.fingerprint },
    ];
    const [rsa, pss, elliptic] = kinds;
    // Only one signer has a place for its key, which it gets with its second message in a row.
    const order = [rsa, elliptic, pss, elliptic, rsa, pss, rsa, pss, elliptic, elliptic, elliptic];
    const keys: string[] = [];
    for (const kind of order) {
      if (kind === undefined) throw new Error('missing');
      const read = MdmSignature.read(kind.value, cache);
      keys.push(`${kind.name} ${read.signer.publicKey instanceof KeyObject ? 'kept' : 'read'}`);
      expect(() => read.verify(notNow)).toThrow(refusal.message);
      expect(read.verify(body).fingerprint).toEqual(kind.fingerprint);
    }
    expect(keys).toEqual([
      'RSA kept',
      'EC kept',
      'PSS read',
      'EC read',
      'RSA read',
      'PSS kept',
      'RSA kept',
      'PSS kept',
      'EC read',
      'EC kept',
      'EC kept',
    ]);
  });

  it('checks the kind of a key whose certificate came by another way first', async () => {
    const keys = await promisify(generateKeyPair)('ed25519');
    const der = identityOf({ ...signer, publicKey: keys.publicKey }).certificate.der;
    const cache = new SignerCache();
    const { key, signer: first } = cache.find(der);
    cache.keep(key, first);
    for (let turn = 0; turn < 3; turn += 1) {
      const found = cache.find(der);
      expect(found.isKnown).toBe(true);
      expect(() => found.signer.publicKey).toThrow('unsupported kind or size of key');
    }
  });
});
