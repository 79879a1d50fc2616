import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readCredentialFiles } from '../../src/cli/keys/credential-file.js';
import { type PasswordInput, PasswordPrompt } from '../../src/cli/password.js';
import { exportPublicKey, importPrivateKey } from '../../src/crypto/keys/keys.js';
import { type OpenSsl, openSsl } from '../crypto/openssl.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const PASSWORD = 'pass wörd';

let ssl: OpenSsl;
let directory: string;
let certificate: string;
let publicKey: Buffer;

beforeAll(() => {
  ssl = openSsl();
  directory = temporaryDirectory();
  ssl.run(
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'c.pem'],
    ...['-subj', '/CN=push', '-days', '30'],
  );
  certificate = ssl.read('c.pem').toString();
  publicKey = exportPublicKey(importPrivateKey(ssl.read('key.pem')));
  writeFileSync(join(directory, 'password'), `${PASSWORD}\r\nnot this line\n`);
  mkdirSync(join(directory, 'folder'));
});
afterAll(() => {
  ssl.remove();
  removeTemporaryDirectories();
});

/** Made by OpenSSL under this name. */
function made(name: string, ...command: string[]): string {
  ssl.run(...command, '-out', name);
  writeFileSync(join(directory, name), ssl.read(name));
  return join(directory, name);
}

function read(files: string[], file?: string, input: Partial<PasswordInput> = {}) {
  const stdin = Readable.from([Buffer.from(`${PASSWORD}\n`)]);
  const option = { name: '--password-file', file };
  return readCredentialFiles(files, new PasswordPrompt(option, { stdin, ...input }));
}

async function expectBoth(read: Promise<{ pem_certificate?: string; pem_private_key?: string }>) {
  const { pem_certificate, pem_private_key = '' } = await read;
  expect(pem_certificate).toBe(certificate);
  expect(exportPublicKey(importPrivateKey(Buffer.from(pem_private_key)))).toEqual(publicKey);
}

const passwordFile = () => join(directory, 'password');

const P12 = ['pkcs12', '-export', '-in', 'c.pem', '-inkey', 'key.pem'];

describe('files of certificates and keys', () => {
  it.each([
    ['PEM', 'c1.pem', ['x509', '-in', 'c.pem']],
    ['DER', 'c.cer', ['x509', '-in', 'c.pem', '-outform', 'DER']],
    ['PKCS #7 in PEM', 'c.p7b', ['crl2pkcs7', '-nocrl', '-certfile', 'c.pem']],
    ['PKCS #7 in DER', 'd.p7b', ['crl2pkcs7', '-nocrl', '-certfile', 'c.pem', '-outform', 'DER']],
  ])('are read as certificates in %s', async (_form, name, command) => {
    expect(await read([made(name, ...command)])).toEqual({ pem_certificate: certificate });
  });

  it.each([
    ['PKCS #8', 'k1.pem', ['pkey', '-in', 'key.pem']],
    ['PKCS #1', 'k2.pem', ['rsa', '-in', 'key.pem', '-traditional']],
    [
      'PKCS #8 in DER',
      'k3.der',
      ['pkcs8', '-topk8', '-nocrypt', '-in', 'key.pem', '-outform', 'DER'],
    ],
  ])('are read as keys in %s', async (_form, name, command) => {
    const key = made(name, ...command);
    await expectBoth(read([made('c1.pem', 'x509', '-in', 'c.pem'), key]));
  });

  it.each([
    ['PKCS #12', 'a.p12', [...P12, '-passout', `pass:${PASSWORD}`]],
    ['an older PKCS #12', 'b.p12', [...P12, '-legacy', '-passout', `pass:${PASSWORD}`]],
  ])(
    'are read as %s, with the password from a file, standard input or a prompt',
    async (_form, name, command) => {
      const file = made(name, ...command);
      await expectBoth(read([file], passwordFile()));
      await expectBoth(read([file], '-'));
      const questions: string[] = [];
      const ask = async (question: string) => {
        questions.push(question);
        return PASSWORD;
      };
      await expectBoth(read([file], undefined, { ask }));
      expect(questions).toEqual([`Password of ${file}: `]);
    },
  );

  it('are read as PKCS #12 without a password, without asking for one', async () => {
    const ask = () => Promise.reject(new Error('asked'));
    const file = made('empty.p12', ...P12, '-passout', 'pass:');
    await expectBoth(read([file], undefined, { ask }));
  });

  it('are read as encrypted keys, asking once for several', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return PASSWORD;
    };
    const pass = ['-passout', `pass:${PASSWORD}`];
    const key = made('e1.pem', 'pkey', '-in', 'key.pem', '-aes256', ...pass);
    const both = made('a2.p12', ...P12, ...pass);
    await expectBoth(read([both, key], undefined, { ask }));
    expect(asked).toHaveLength(1);
  });
});

describe('files are refused', () => {
  it('that need a password when none can be asked for', async () => {
    const file = made('c.p12', ...P12, '-passout', `pass:${PASSWORD}`);
    await expect(read([file])).rejects.toMatchObject({
      name: 'UsageError',
      message: `${file} is encrypted: pass its password in a file by --password-file FILE (- reads standard input)`,
    });
  });

  it('with a wrong password, by their name', async () => {
    const file = made('d.p12', ...P12, '-passout', 'pass:other');
    await expect(read([file], passwordFile())).rejects.toMatchObject({
      message: `${file}: the password is wrong, or the file is damaged`,
    });
    const missing = read([file], join(directory, 'missing'));
    await expect(missing).rejects.toThrow(/missing cannot be read \(ENOENT/);
  });

  it.each([
    ['no bytes', Buffer.alloc(0), 'it is neither PEM, DER nor PKCS #12'],
    ['text', Buffer.from('hello'), 'it is neither PEM, DER nor PKCS #12'],
    ['an empty sequence', Buffer.from('3000', 'hex'), 'it is neither PEM, DER nor PKCS #12'],
    ['a sequence of other things', Buffer.from('30023000', 'hex'), 'unreadable certificate'],
    ['a version alone', Buffer.from('3003020103', 'hex'), 'unreadable PKCS #12'],
    ['too much', Buffer.alloc(1024 * 1024 + 1), 'it is too large'],
  ])('that hold %s', async (_what, bytes, message) => {
    const file = join(directory, 'odd');
    writeFileSync(file, bytes);
    const error = await read([file]).catch((reason: Error) => reason);
    expect(error).toMatchObject({ name: 'AppError' });
    expect((error as Error).message).toContain(`${file}: ${message}`);
  });

  it('of other kinds, or with two keys', async () => {
    await expect(read([join(directory, 'folder')])).rejects.toThrow(
      /folder cannot be read \(EISDIR/,
    );
    const one = made(
      'one.pem',
      'genpkey',
      '-algorithm',
      'EC',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
    );
    const two = made(
      'two.pem',
      'genpkey',
      '-algorithm',
      'EC',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
    );
    await expect(read([one, two])).rejects.toThrow(`${one}, ${two}: more than one private key`);
  });
});
