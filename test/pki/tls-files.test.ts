import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { insertCertificate } from '../../src/db/certificate-repository.js';
import { certificateRecord } from '../../src/pki/certificate-record.js';
import { keepPrivateKey } from '../../src/pki/stored-keys.js';
import type { Identity } from '../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { localhostIdentity } from '../helpers/tls.js';
import { certificatePem, keyPem } from '../mdm/certified-device.js';
import { BOX, inUse, type OpenedTls, openTls } from './open-tls.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
  removeTemporaryDirectories();
});

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

  it('wins over a stored one', async () => {
    const { certificate, privateKey: key } = await localhostIdentity();
    await database.db.knex.transaction(async (trx) => {
      const rsa_private_key_id = await keepPrivateKey(trx, BOX, { key, name: null });
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

  it('is read again when both are replaced, not when half of them is: told once', async () => {
    const [first, second] = [await localhostIdentity(), await localhostIdentity()];
    const { tls, warnings } = await openFiles(first);
    const heard: Buffer[] = [];
    tls.onChange(({ certificate }) => heard.push(certificate.fingerprint));
    writeCertificate(second);
    for (let time = 0; time < 3; time += 1) await tls.refresh();
    expect(inUse(tls)).toEqual(first.certificate.fingerprint);
    const message = 'the new TLS_CERT_FILE and TLS_KEY_FILE cannot be used: the former stay';
    expect(warnings()).toEqual([message]);
    writeKey(second);
    await tls.refresh();
    await tls.refresh();
    expect(heard).toEqual([second.certificate.fingerprint]);
    expect(warnings()).toEqual([message]);
  });

  it('stays when the files are gone, or hold anything else', async () => {
    const own = await localhostIdentity();
    const { tls, warnings } = await openFiles(own);
    rmSync(certFile);
    await tls.refresh();
    writeFileSync(certFile, 'no PEM');
    await tls.refresh();
    expect(inUse(tls)).toEqual(own.certificate.fingerprint);
    expect(warnings()).toHaveLength(2);
    writeCertificate(own);
    await tls.refresh();
    expect(warnings()).toHaveLength(2);
  });

  it('keeps the server from its start when key and certificate are no pair', async () => {
    writeCertificate(await localhostIdentity());
    writeKey(await localhostIdentity());
    await expect(openTls(database, { tls: { certFile, keyFile } })).rejects.toThrow(
      /key values mismatch/,
    );
  });
});
