import {
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derSequence,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { describeKey, importPrivateKey, keysMatch } from '../../../src/crypto/keys/keys.js';
import { readPrivateKeyPem } from '../../../src/crypto/keys/private-key-pem.js';
import { Secret, WrongPassword } from '../../../src/crypto/pkcs12/password-encryption.js';
import { openPkcs12 } from '../../../src/crypto/pkcs12/pkcs12.js';
import { bmpPassword, derivePkcs12Key, KeyUse } from '../../../src/crypto/pkcs12/pkcs12-kdf.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { AppError } from '../../../src/errors.js';
import { fixture, mutations } from '../identities.js';

const FILE = fixture('cert/push.test-pair.p12');

function contentInfo(oid: string, content: Buffer): Buffer {
  return derSequence(derOid(oid), derContext(0, content));
}

function unsignedFile(...safes: Buffer[]): Buffer {
  const content = contentInfo(Oid.data, derOctetString(derSequence(...safes)));
  return derSequence(derInteger(3), content);
}

/** An EncryptedData by PBES2, whose content is no matter. */
function encryptedData(iterations: number): Buffer {
  const parameters = derSequence(derOctetString(Buffer.alloc(8)), derInteger(iterations));
  const pbes2 = derSequence(
    derSequence(derOid(Oid.pbkdf2), parameters),
    derSequence(derOid(Oid.aes128Cbc), derOctetString(Buffer.alloc(16))),
  );
  const algorithm = derSequence(derOid(Oid.pbes2), pbes2);
  const content = derContext(0, derOctetString(Buffer.alloc(16)));
  return derSequence(derInteger(0), derSequence(derOid(Oid.data), algorithm, content));
}

async function failureOf(work: Promise<unknown>): Promise<[string, string]> {
  try {
    await work;
    return ['none', ''];
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.message];
    throw error;
  }
}

describe('openPkcs12', () => {
  it('refuses what is no PKCS #12', async () => {
    const refused = ['invalid_pkcs12', 'unreadable PKCS #12'];
    for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), derSequence(), derNull()]) {
      expect(await failureOf(openPkcs12(bytes))).toEqual(refused);
    }
    for (let length = 0; length < FILE.length; length += 7) {
      expect(await failureOf(openPkcs12(FILE.subarray(0, length), 'secret'))).toEqual(refused);
    }
    const two = await failureOf(openPkcs12(derSequence(derInteger(2)), 'secret'));
    expect(two).toEqual(['invalid_pkcs12', 'unknown version']);
  });

  it('refuses wrong passwords', async () => {
    for (const password of ['Secret', 'secret ', '', undefined]) {
      await expect(openPkcs12(FILE, password)).rejects.toBeInstanceOf(WrongPassword);
    }
  });

  it('refuses a file that would cost too much', async () => {
    const big = Buffer.alloc(600_000, 0x30);
    expect(await failureOf(openPkcs12(big))).toEqual(['invalid_pkcs12', 'it is too large']);
    const algorithm = derSequence(derOid(Oid.sha1), derNull());
    const digest = derSequence(algorithm, derOctetString(Buffer.alloc(20)));
    const mac = derSequence(digest, derOctetString(Buffer.alloc(8)), derInteger(2_000_000_000));
    const content = contentInfo(Oid.data, derOctetString(derSequence()));
    const endless = derSequence(derInteger(3), content, mac);
    expect(await failureOf(openPkcs12(endless, 'secret'))).toEqual([
      'invalid_pkcs12',
      'the password takes 2000000000 iterations; 1 to 1000000 are accepted',
    ]);
    const bag = derSequence(derOid('1.2.3'), derContext(0, derNull()));
    const bags = derSequence(...Array<Buffer>(65).fill(bag));
    const crowded = unsignedFile(contentInfo(Oid.data, derOctetString(bags)));
    const tooMany = ['invalid_pkcs12', 'it holds too many parts'];
    expect(await failureOf(openPkcs12(crowded))).toEqual(tooMany);
  });

  it.each([0, 1_000_001])('refuses %d iterations, naming them', async (iterations) => {
    const safe = contentInfo(Oid.encryptedData, encryptedData(iterations));
    expect(await failureOf(openPkcs12(unsignedFile(safe), 'secret'))).toEqual([
      'invalid_pkcs12',
      `the password takes ${iterations} iterations; 1 to 1000000 are accepted`,
    ]);
  });

  it('refuses many parts with many iterations each', () => {
    const secret = new Secret('secret');
    for (let part = 0; part < 7; part += 1) secret.spend(1_000_000);
    expect(() => secret.spend(1)).toThrow(
      'the passwords of all parts take 7000001 or more iterations; 1 to 7000000 are accepted',
    );
  });

  it('names each algorithm that it does not support', async () => {
    const signed = derSequence(derInteger(3), contentInfo(Oid.signedData, derSequence()));
    expect((await failureOf(openPkcs12(signed)))[1]).toContain('a signature in place of');
    const enveloped = unsignedFile(contentInfo(Oid.envelopedData, derSequence()));
    expect((await failureOf(openPkcs12(enveloped)))[1]).toContain('encrypted for a certificate');
  });

  it('throws nothing but an AppError for 300 mutations', async () => {
    for (const mutation of mutations(FILE, 300)) {
      const [code] = await failureOf(openPkcs12(mutation, 'secret'));
      expect(['none', 'invalid_pkcs12', 'invalid_certificate']).toContain(code);
    }
  });

  it('opens a published file with RC2 and 3DES', async () => {
    const { certificates, privateKeys } = await openPkcs12(FILE, 'secret');
    const [certificate, ...others] = certificates.map(parseCertificate);
    const [key, ...otherKeys] = privateKeys.map((der) => importPrivateKey(der));
    expect([others, otherKeys]).toEqual([[], []]);
    expect(certificate?.subject).toBe('CN=mdmpush');
    expect(certificate && key && keysMatch(key, certificate.publicKey)).toBe(true);
  });

  it('leaves the event loop free', async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const iterations = 60_000;
    const common = { password: bmpPassword('x'), salt: Buffer.alloc(8), iterations };
    await derivePkcs12Key({ ...common, digest: 'sha1', use: KeyUse.mac, bytes: 20 });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
  });

  it('runs one file in each turn of the event loop, however many are open', async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const common = { password: bmpPassword('x'), salt: Buffer.alloc(8), iterations: 20_000 };
    const options = { ...common, digest: 'sha1', use: KeyUse.mac, bytes: 20 } as const;
    await Promise.all([1, 2, 3, 4].map(() => derivePkcs12Key(options)));
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(4 * 10);
  });
});

describe('derivePkcs12Key', () => {
  // The vectors that the test suites of other implementations share.
  it.each([
    [
      '0A58CF64530D823F',
      1,
      24,
      '8AAAE6297B6CB04642AB5B077851284EB7128F1A2A7FBCA3',
      KeyUse.encryption,
    ],
    ['0A58CF64530D823F', 1, 8, '79993DFE048D3B76', KeyUse.iv],
    ['3D83C0E4546AC140', 1, 20, '8D967D88F6CAA9D714800AB3D48051D63F73A312', KeyUse.mac],
  ])('derives what others do from salt %s', async (salt, iterations, bytes, expected, use) => {
    const password = bmpPassword('smeg');
    const key = await derivePkcs12Key({
      password,
      salt: Buffer.from(salt, 'hex'),
      iterations,
      bytes,
      use,
      digest: 'sha1',
    });
    expect(key.toString('hex').toUpperCase()).toBe(expected);
  });
});

describe('readPrivateKeyPem', () => {
  const KEY = fixture('cert/push.test-pair.key').toString();

  it('opens a published key with RFC 1421 headers', async () => {
    expect(describeKey(await readPrivateKeyPem(KEY, 'secret'))).toEqual({
      type: 'RSA',
      bits: 2048,
    });
    await expect(readPrivateKeyPem(KEY, 'wrong')).rejects.toBeInstanceOf(WrongPassword);
  });

  it.each<[string, string, string]>([
    ['no key', 'hello', 'there is no private key in PEM'],
    ['two keys', KEY + KEY, 'there is more than one private key'],
    ['no password', KEY, 'the private key is encrypted; its password is missing'],
    [
      'nonsense in the block',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      'unreadable private key',
    ],
    [
      'another end',
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----',
      'there is no',
    ],
  ])('refuses %s', async (_what, text, message) => {
    const [code, reason] = await failureOf(readPrivateKeyPem(text));
    expect(code).toBe('invalid_certificate');
    expect(reason).toContain(message);
  });

  it('reads hostile text in linear time', async () => {
    const text = '-----BEGIN RSA PRIVATE KEY-----'.repeat(30_000);
    const start = process.hrtime.bigint();
    expect((await failureOf(readPrivateKeyPem(text)))[0]).toBe('invalid_certificate');
    expect(Number(process.hrtime.bigint() - start) / 1e6).toBeLessThan(1_000);
  });
});
