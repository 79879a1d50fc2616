import { join } from 'node:path';
import { ConfigError } from '../../../src/config/config.js';
import { readTlsFiles } from '../../../src/pki/tls/tls-files.js';
import { type OpenSsl, openSsl } from '../../crypto/openssl.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { makeChain, makeRoot } from '../../http/tls-chains.js';
import { caveatsOf, openTls } from './open-tls.js';

let openssl: OpenSsl;

const PAIR = 'TLS_CERT_FILE, TLS_KEY_FILE';
const HINT = '(openssl x509, openssl pkey and openssl pkcs12 convert DER and PKCS #12)';

beforeAll(() => {
  openssl = openSsl();
  makeRoot(openssl);
  for (const kind of ['rsa', 'ec'] as const) {
    const { chain } = makeChain(openssl, kind);
    openssl.write(`${kind}-chain.pem`, chain);
  }
  const read = (name: string) => openssl.read(name).toString('latin1');
  const { run, write } = openssl;
  write('backwards.pem', read('between-rsa.pem') + read('rsa.pem'));
  write('both.pem', read('rsa.key') + read('rsa-chain.pem'));
  write('two.key', read('rsa.key') + read('ec.key'));
  run('x509', '-in', 'rsa.pem', '-outform', 'DER', '-out', 'rsa.der');
  run('pkey', '-in', 'rsa.key', '-outform', 'DER', '-out', 'rsa-key.der');
  run('pkey', '-in', 'rsa.key', '-aes256', '-passout', 'pass:secret', '-out', 'locked.key');
  run('rsa', '-in', 'rsa.key', '-aes128', '-traditional', '-passout', 'pass:x', '-out', 'old.key');
  const into = ['-out', 'rsa.p12', '-passout', 'pass:x'];
  run('pkcs12', '-export', '-in', 'rsa.pem', '-inkey', 'rsa.key', ...into);
  run('genpkey', '-algorithm', 'ed25519', '-out', 'ed.key');
  run('x509', '-in', 'rsa.pem', '-text', '-out', 'text.pem');
  run('req', '-new', '-key', 'rsa.key', '-subj', '/CN=localhost', '-out', 'rsa.csr');
  const sign = ['x509', '-req', '-in', 'rsa.csr', '-days', '2', '-CAcreateserial'];
  run(...sign, '-sha1', '-CA', 'root.pem', '-CAkey', 'root.key', '-out', 'sha1.pem');
});
afterAll(() => openssl.remove());

const paths = (cert: string, key: string) => ({
  certFile: join(openssl.directory, cert),
  keyFile: join(openssl.directory, key),
});

describe('files for TLS', () => {
  it.each([
    ['a key of another kind', 'rsa.pem', 'ec.key', [`${PAIR}: the private key does not belong to`]],
    ['the other way round', 'ec.pem', 'rsa.key', [`${PAIR}: the private key does not belong to`]],
    ['a key of the same kind', 'rsa.pem', 'root.key', [`${PAIR}: the private key does not belong`]],
    [
      'the issuer first',
      'backwards.pem',
      'rsa.key',
      [`${PAIR}: the server's own certificate must`],
    ],
    ['an encrypted key', 'rsa.pem', 'locked.key', ['TLS_KEY_FILE: the key is encrypted; Muster']],
    ['an old encrypted key', 'rsa.pem', 'old.key', ['TLS_KEY_FILE: the key is encrypted; Muster']],
    ['a certificate in DER', 'rsa.der', 'rsa.key', [`TLS_CERT_FILE: it is not PEM ${HINT}`]],
    ['a key in DER', 'rsa.pem', 'rsa-key.der', [`TLS_KEY_FILE: it is not PEM ${HINT}`]],
    [
      'PKCS #12 in both places',
      'rsa.p12',
      'rsa.p12',
      [`TLS_CERT_FILE: it is not PEM ${HINT}`, `TLS_KEY_FILE: it is not PEM ${HINT}`],
    ] as [string, string, string, string[]],
    ['the key for a certificate', 'rsa.key', 'rsa.key', ['TLS_CERT_FILE: ']],
    ['a certificate for the key', 'rsa.pem', 'rsa.pem', ['TLS_KEY_FILE: there is no private key']],
    ['two keys', 'rsa.pem', 'two.key', ['TLS_KEY_FILE: there is more than one private key']],
    ['a key of no use', 'rsa.pem', 'ed.key', ['TLS_KEY_FILE: unsupported kind or size of key']],
    [
      'a signature with SHA-1',
      'sha1.pem',
      'rsa.key',
      [
        `${PAIR}: the certificate or one of its chain is signed with SHA-1 or MD5, which TLS refuses`,
      ],
    ],
    ['files that are not there', 'no.pem', 'no.key', ['TLS_CERT_FILE: ENOENT', 'TLS_KEY_FILE: EN']],
  ])('are refused with %s', (_what, cert, key, beginnings) => {
    let problems: string[] = [];
    try {
      readTlsFiles(paths(cert, key));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems = error.problems;
    }
    const shown = problems.map((problem, index) =>
      problem.slice(0, beginnings[index]?.length ?? 0),
    );
    expect(shown).toEqual(beginnings);
  });

  it.each([
    ['rsa-chain.pem', 'rsa.key', 1],
    ['ec-chain.pem', 'ec.key', 1],
    ['both.pem', 'both.pem', 1],
    ['text.pem', 'rsa.key', 0],
  ])('may be %s and %s', (cert, key, above) => {
    const { certificate, chain } = readTlsFiles(paths(cert, key));
    expect([certificate.commonName, chain.length]).toEqual(['localhost', above]);
  });
});

describe('a certificate in files', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  /** As people make one in a lab. */
  function selfSigned(name: string, subject: string, ...more: string[]) {
    openssl.run(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      subject,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
      ...more,
    );
    return paths(`${name}.pem`, `${name}.key`);
  }

  const open = (tls: ReturnType<typeof paths>, publicUrl = 'https://localhost:8080') =>
    openTls(database, { tls, publicUrl });

  it('may be a CA without key usage, as people make them in a lab', async () => {
    const { tls, warnings } = await open(selfSigned('lab', '/CN=localhost'));
    expect(tls.current?.certificate.isCa).toBe(true);
    expect([tls.servesTls, tls.caveats, warnings()]).toEqual([true, [], []]);
  });

  it('of a CA that may sign only, or of clients, is served with a warning', async () => {
    const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    const ca = await open(selfSigned('ca', '/CN=localhost', ...usage));
    expect(caveatsOf(ca.tls)).toEqual(['tls_certificate_unfit']);
    expect(ca.warnings()).toEqual([
      'The TLS certificate "localhost" (of TLS_CERT_FILE) is refused by devices: it is the ' +
        'certificate of a CA, and its key usage (keyCertSign, cRLSign) leaves no way to speak TLS. ' +
        'Better replace TLS_CERT_FILE and TLS_KEY_FILE.',
    ]);
    const purpose = ['-addext', 'extendedKeyUsage=clientAuth'];
    const client = await open(selfSigned('client', '/CN=localhost', ...purpose));
    expect(caveatsOf(client.tls)).toEqual(['tls_certificate_unfit']);
  });

  it('for other hosts than PUBLIC_URL has is served with a warning that names both', async () => {
    const names = ['-addext', 'subjectAltName=DNS:one.example.com,DNS:*.two.example.com,IP:::1'];
    const files = selfSigned('names', '/CN=mdm.example.com', ...names);
    const { tls, warnings } = await open(files, 'https://mdm.example.com');
    expect(caveatsOf(tls)).toEqual(['tls_certificate_other_host']);
    expect(warnings()).toEqual([
      'The TLS certificate "mdm.example.com" (of TLS_CERT_FILE) is for one.example.com, ' +
        '*.two.example.com, 0000:0000:0000:0000:0000:0000:0000:0001, but the host of ' +
        'PUBLIC_URL is mdm.example.com, so devices refuse it: set PUBLIC_URL to the address that it is for, or replace ' +
        'TLS_CERT_FILE and TLS_KEY_FILE.',
    ]);
    for (const host of ['one.example.com:8443', 'a.two.example.com', '[::1]:8443']) {
      expect((await open(files, `https://${host}`)).tls.caveats).toEqual([]);
    }
    for (const host of ['two.example.com', 'a.b.two.example.com', '[::2]', '127.0.0.1']) {
      const other = await open(files, `https://${host}`);
      expect(caveatsOf(other.tls)).toEqual(['tls_certificate_other_host']);
    }
  });
});
