import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../../src/config/config.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../../src/pki/certificates/stored-keys.js';
import { ecIdentity, type Identity } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { localhostIdentity } from '../../helpers/tls.js';
import { certificatePem, keyPem } from '../../mdm/certified-device.js';
import { BOX, caveatsOf, inUse, type OpenedTls, openTls } from './open-tls.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
  removeTemporaryDirectories();
});

function unusable(problem: string): string {
  return (
    'TLS_CERT_FILE and TLS_KEY_FILE have changed and cannot be used: HTTPS is served with their ' +
    `former content, but the next start would fail. ${problem}.`
  );
}

describe('a certificate for TLS in files', () => {
  let certFile: string;
  let keyFile: string;

  beforeEach(() => {
    const directory = temporaryDirectory();
    [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  });

  function writeCertificate({ certificate }: Identity): void {
    writeFileSync(certFile, certificatePem(certificate));
  }

  function writeKey(identity: Identity): void {
    writeFileSync(keyFile, keyPem(identity));
  }

  async function openFiles(identity: Identity): Promise<OpenedTls> {
    writeCertificate(identity);
    writeKey(identity);
    return openTls(database, { tls: { certFile, keyFile } });
  }

  it('is used instead of a stored one', async () => {
    const { certificate, privateKey: key } = await localhostIdentity();
    await database.db.knex.transaction(async (trx) => {
      const rsa_private_key_id = await storeSealedKey(trx, BOX, { key, name: null });
      const record = certificateRecord(certificate, 'mdm.webcrt');
      await insertCertificate(trx, { ...record, rsa_private_key_id });
    });
    expect(inUse((await openTls(database, {})).tls)).toEqual(certificate.fingerprint);
    const own = await localhostIdentity();
    const { tls, warnings } = await openFiles(own);
    await tls.refresh();
    expect([tls.servesTls, inUse(tls)]).toEqual([true, own.certificate.fingerprint]);
    expect([tls.caveats, warnings()]).toEqual([[], []]);
  });

  it('is read again when both are replaced; half a replacement is logged once', async () => {
    const [first, second] = [await localhostIdentity(), await localhostIdentity()];
    const { tls, warnings } = await openFiles(first);
    const heard: Buffer[] = [];
    tls.onChange(({ certificate }) => heard.push(certificate.fingerprint));
    writeCertificate(second);
    for (let time = 0; time < 3; time += 1) await tls.refresh();
    expect(inUse(tls)).toEqual(first.certificate.fingerprint);
    const problem =
      'TLS_CERT_FILE, TLS_KEY_FILE: the private key does not belong to the certificate';
    expect([caveatsOf(tls), warnings()]).toEqual([['tls_files_unusable'], [unusable(problem)]]);
    writeKey(second);
    await tls.refresh();
    await tls.refresh();
    expect(heard).toEqual([second.certificate.fingerprint]);
    expect([tls.caveats, warnings()]).toEqual([[], [unusable(problem)]]);
  });

  it('stays in use when the files are gone, or hold anything else', async () => {
    const own = await localhostIdentity();
    const { tls, warnings } = await openFiles(own);
    rmSync(certFile);
    await tls.refresh();
    writeFileSync(certFile, 'no PEM');
    await tls.refresh();
    const gone = `TLS_CERT_FILE: ENOENT: no such file or directory, open '${certFile}'`;
    const pem = '(openssl x509, openssl pkey and openssl pkcs12 convert DER and PKCS #12)';
    const expected = [unusable(gone), unusable(`TLS_CERT_FILE: it is not PEM ${pem}`)];
    expect([inUse(tls), warnings()]).toEqual([own.certificate.fingerprint, expected]);
    expect(tls.caveats).toEqual([{ code: 'tls_files_unusable', detail: expected[1] }]);
    writeCertificate(own);
    await tls.refresh();
    expect([tls.caveats, warnings()]).toEqual([[], expected]);
  });

  it('stops the start when key and certificate are no pair', async () => {
    writeCertificate(await localhostIdentity());
    writeKey(await localhostIdentity());
    await expect(openTls(database, { tls: { certFile, keyFile } })).rejects.toThrow(
      new ConfigError([
        'TLS_CERT_FILE, TLS_KEY_FILE: the private key does not belong to the certificate',
      ]),
    );
  });

  const DAY = 86_400_000;
  const days = (from: number, to: number) => ({
    notBefore: new Date(Date.now() + from * DAY),
    notAfter: new Date(Date.now() + to * DAY),
  });

  it.each([
    ['has not begun', days(1, 9), (own: Identity) => `it is not valid before ${begin(own)}`],
    ['has ended', days(-9, -1), (own: Identity) => `it expired at ${end(own)}`],
  ])('is served although its time %s, with a warning', async (_what, time, detail) => {
    const subject = [{ type: 'CN', value: 'localhost' }];
    const own = await ecIdentity('P-256', { subject, ...time });
    const { tls, warnings } = await openFiles(own);
    await tls.refresh();
    const message = `devices refuse the TLS certificate: ${detail(own)}`;
    expect([tls.servesTls, tls.caveats, warnings()]).toEqual([true, [], [message]]);
  });

  const begin = ({ certificate }: Identity) => certificate.notBefore.toISOString();
  const end = ({ certificate }: Identity) => certificate.notAfter.toISOString();
});
