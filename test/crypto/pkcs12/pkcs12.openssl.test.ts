import { monitorEventLoopDelay } from 'node:perf_hooks';
import { importPrivateKey, keysMatch } from '../../../src/crypto/keys/keys.js';
import { privateKeyBlocks, readPrivateKeyPem } from '../../../src/crypto/keys/private-key-pem.js';
import { WrongPassword } from '../../../src/crypto/pkcs12/password-encryption.js';
import { openPkcs12 } from '../../../src/crypto/pkcs12/pkcs12.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const PASSWORD = 'Grüße 42';

let ssl: OpenSsl;
beforeAll(() => {
  ssl = openSsl();
  ssl.run('ecparam', '-genkey', '-name', 'secp384r1', '-out', 'ec.key');
  ssl.run('genrsa', '-out', 'rsa.key', '2048');
  for (const kind of ['ec', 'rsa']) {
    const subject = ['-subj', `/O=Example/CN=${kind}`, '-days', '2'];
    ssl.run('req', '-x509', '-new', '-key', `${kind}.key`, '-out', `${kind}.pem`, ...subject);
  }
});
afterAll(() => ssl.remove());

function pkcs12(kind: string, options: string[], password = PASSWORD): Buffer {
  const files = ['-inkey', `${kind}.key`, '-in', `${kind}.pem`, '-out', 'made.p12'];
  ssl.run('pkcs12', '-export', ...files, '-passout', `pass:${password}`, ...options);
  return ssl.read('made.p12');
}

async function expectPair(file: Buffer, password: string | undefined, kind: string) {
  const { certificates, privateKeys } = await openPkcs12(file, password);
  expect([certificates.length, privateKeys.length]).toEqual([1, 1]);
  const certificate = parseCertificate(certificates[0] ?? Buffer.alloc(0));
  const key = importPrivateKey(privateKeys[0] ?? Buffer.alloc(0));
  expect(certificate.subject).toBe(`CN=${kind},O=Example`);
  expect(keysMatch(key, certificate.publicKey)).toBe(true);
}

describe('PKCS #12 made by OpenSSL', () => {
  it.each<[string, string[]]>([
    ['AES-256 and SHA-256, as today', []],
    ['3DES and RC2 with 40 bits, as before', ['-legacy']],
    [
      'RC2 with 128 bits',
      ['-legacy', '-certpbe', 'PBE-SHA1-RC2-128', '-keypbe', 'PBE-SHA1-RC2-128'],
    ],
    ['3DES for both', ['-certpbe', 'PBE-SHA1-3DES', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1']],
    [
      'AES-128 and SHA-512',
      ['-certpbe', 'AES-128-CBC', '-keypbe', 'AES-192-CBC', '-macalg', 'sha512'],
    ],
    ['nothing encrypted', ['-certpbe', 'NONE', '-keypbe', 'NONE']],
    ['no integrity check', ['-nomac']],
    ['many iterations', ['-iter', '20000']],
    ['a friendly name', ['-name', 'my identity']],
  ])('opens with %s', async (_what, options) => {
    for (const kind of ['rsa', 'ec']) {
      await expectPair(pkcs12(kind, options), PASSWORD, kind);
    }
  });

  it('opens with the iterations that are advised today, and serves others meanwhile', async () => {
    const file = pkcs12('rsa', ['-iter', '600000']);
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await expectPair(file, PASSWORD, 'rsa');
    delays.disable();
    expect(delays.percentile(90) / 1e6).toBeLessThan(20);
  });

  it.each([[[]], [['-legacy']]])('opens without a password %j', async (options) => {
    await expectPair(pkcs12('rsa', options, ''), undefined, 'rsa');
    await expectPair(pkcs12('rsa', options, ''), '', 'rsa');
  });

  it.each([[[]], [['-legacy']], [['-nomac']]])('refuses a wrong password %j', async (options) => {
    const file = pkcs12('rsa', options);
    for (const password of ['wrong', '', undefined]) {
      await expect(openPkcs12(file, password)).rejects.toBeInstanceOf(WrongPassword);
    }
  });

  it('names what it does not support', async () => {
    const rc4 = ['-legacy', '-certpbe', 'PBE-SHA1-RC4-128'];
    await expect(openPkcs12(pkcs12('rsa', rc4), PASSWORD)).rejects.toMatchObject({
      code: 'invalid_pkcs12',
      message: 'the encryption 1.2.840.113549.1.12.1.1 is not supported',
    });
    const md5 = ['-macalg', 'md5'];
    await expect(openPkcs12(pkcs12('rsa', md5), PASSWORD)).rejects.toMatchObject({
      code: 'invalid_pkcs12',
      message: 'the integrity check 1.2.840.113549.2.5 is not supported',
    });
  });
});

describe('private keys in PEM made by OpenSSL', () => {
  const make = (...args: string[]) => ssl.run(...args).toString('utf8');
  const pass = ['-passout', `pass:${PASSWORD}`];

  it.each<[string, () => string]>([
    ['PKCS #8', () => make('pkcs8', '-topk8', '-nocrypt', '-in', 'rsa.key')],
    ['PKCS #1', () => make('rsa', '-traditional', '-in', 'rsa.key')],
    ['SEC 1 behind its parameters', () => ssl.read('ec.key').toString('utf8')],
    ['PKCS #8 with AES', () => make('pkcs8', '-topk8', '-in', 'rsa.key', ...pass)],
    ['PKCS #8 with 3DES', () => make('pkcs8', '-topk8', '-v2', 'des3', '-in', 'ec.key', ...pass)],
    [
      'PKCS #8 as PKCS #12 has it',
      () => make('pkcs8', '-topk8', '-v1', 'PBE-SHA1-3DES', '-in', 'rsa.key', ...pass),
    ],
    ['PKCS #1 with AES', () => make('rsa', '-traditional', '-aes256', '-in', 'rsa.key', ...pass)],
    ['PKCS #1 with 3DES', () => make('rsa', '-traditional', '-des3', '-in', 'rsa.key', ...pass)],
    ['SEC 1 with AES', () => make('ec', '-aes128', '-in', 'ec.key', ...pass)],
  ])('are read as %s', async (_what, pem) => {
    const text = pem();
    const key = await readPrivateKeyPem(text, PASSWORD);
    const kind = key.asymmetricKeyType === 'ec' ? 'ec' : 'rsa';
    const certificate = parseCertificate(ssl.run('x509', '-in', `${kind}.pem`, '-outform', 'DER'));
    expect(keysMatch(key, certificate.publicKey)).toBe(true);
    expect(privateKeyBlocks(`before\n${text}\nafter`)).toHaveLength(1);
    if (!text.includes('ENCRYPTED')) return;
    await expect(readPrivateKeyPem(text, 'wrong')).rejects.toBeInstanceOf(WrongPassword);
    await expect(readPrivateKeyPem(text)).rejects.toThrow('its password is missing');
  });

  it('are refused with scrypt, naming it', async () => {
    const text = make('pkcs8', '-topk8', '-scrypt', '-scrypt_N', '1024', '-in', 'rsa.key', ...pass);
    await expect(readPrivateKeyPem(text, PASSWORD)).rejects.toMatchObject({
      code: 'invalid_certificate',
      message: 'the key derivation scrypt is not supported',
    });
  });
});
