import { randomBytes } from 'node:crypto';
import { contextTag, readDer } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { generateEcKeyPair, type KeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { issueCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { readExtensions } from '../../../src/crypto/x509/certificate-extensions.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import {
  type CertificateAuthorities,
  createCertificateAuthorities,
} from '../../../src/pki/authority/authorities.js';
import { rotateAuthority } from '../../../src/pki/authority/stored-authority.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../../src/pki/certificates/stored-keys.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { storePreparedAuthority } from '../../helpers/prepared-authority.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import {
  readAuthorityInfoAccess,
  readCrlDistributionPoints,
} from '../../helpers/revocation-addresses.js';
import { capturingLogger } from '../../http/log-lines.js';

const publicUrl = 'https://mdm.example.com/muster';

function extensionsOf(der: Buffer) {
  const tbs = readDer(der).sequence().sequence();
  for (;;) {
    const element = tbs.next();
    if (element.tag === contextTag(3)) return readExtensions(element.children().next());
  }
}

describe('the certificate authorities made here', () => {
  let database: TestDatabase;
  let authorities: CertificateAuthorities;
  let keys: KeyPair;
  const { logger } = capturingLogger();
  const box = new SecretBox(randomBytes(32));

  beforeAll(async () => {
    database = await createTestDatabase();
    keys = await nextKeys();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    for (const table of ['certificates', 'rsa_private_keys', 'server_settings']) {
      await database.db.knex(table).delete();
    }
    await storePreparedAuthority(database.db, box);
    authorities = await createCertificateAuthorities({ db: database.db, box, logger, publicUrl });
  });

  const rotate = async () => {
    const made = await nextKeys();
    return await inTransaction(database.db, (trx) => rotateAuthority(trx, box, { keys: made }));
  };
  const namesOf = (list: readonly { certificate: { subject: string } }[]) =>
    list.map(({ certificate }) => certificate.subject);
  const revoke = (id: number) =>
    database.db.knex('certificates').where({ id }).update({ revoked_at: new Date() });

  it('never include one that was uploaded with its key', async () => {
    const { notBefore, notAfter } = authorities.current.certificate;
    const der = issueCertificate({
      subject: [{ type: 'CN', value: 'Uploaded' }],
      isCa: true,
      keyUsage: ['keyCertSign'],
      publicKey: keys.publicKey,
      issuerKey: keys.privateKey,
      notBefore,
      notAfter,
    });
    const uploaded = parseCertificate(der);
    await inTransaction(database.db, async (trx) => {
      const rsa_private_key_id = await storeSealedKey(trx, box, { key: keys.privateKey, name: '' });
      const record = certificateRecord(uploaded, 'mdm.cacert');
      await insertCertificate(trx, { ...record, rsa_private_key_id });
    });
    const before = authorities.current;
    await authorities.reload();
    expect(authorities.current).toBe(before);
    expect(authorities.all({ revoked: true })).toEqual([before]);
    expect(
      authorities.addressedBy({ issuerRaw: uploaded.issuerRaw, serial: uploaded.serial }),
    ).toBeUndefined();
  });

  it('are refused by the database as issuing when two issue, or one was not made here', async () => {
    const rows = database.db.knex('certificates');
    await rotate();
    const mark = database.db.knex('certificates').update({ issues_identities: true });
    await expect(mark).rejects.toMatchObject({ constraint: 'certificates_issuing' });
    await expect(rows.update({ is_own_ca: false })).rejects.toMatchObject({
      constraint: 'certificates_own_issues',
    });
  });

  it('are the new one and the former ones after a rotation, once they are read again', async () => {
    const former = authorities.current;
    const { made } = await rotate();
    expect(authorities.current).toBe(former);
    await authorities.reload();
    expect(authorities.current.certificate.der).toEqual(made.certificate.der);
    expect(authorities.current.privateKey.equals(made.privateKey)).toBe(true);
    expect(authorities.all()).toEqual([authorities.current, former]);
  });

  it('are found by issuer and serial number, or by the key identifier', async () => {
    const former = authorities.current;
    await rotate();
    await authorities.reload();
    const { issuerRaw, serial, subjectKeyId = Buffer.alloc(0) } = former.certificate;
    expect(authorities.addressedBy({ issuerRaw, serial })).toBe(former);
    expect(authorities.addressedBy({ subjectKeyId })).toBe(former);
    expect(authorities.addressedBy({ subjectKeyId: randomBytes(20) })).toBeUndefined();
    const other = authorities.current.certificate.serial;
    expect(authorities.addressedBy({ issuerRaw, serial: other })).toBeUndefined();
    const leaf = former.issueDeviceCertificate({ publicKey: keys.publicKey, subject: [] });
    expect(authorities.issuerOf(leaf)).toBe(former);
    expect(authorities.issuerOf(authorities.current.certificate)).toBe(authorities.current);
  });

  it('exclude a revoked one, except for its revocation list', async () => {
    const former = authorities.current;
    await rotate();
    await revoke(former.id);
    await authorities.reload();
    const { issuerRaw, serial } = former.certificate;
    expect(authorities.all()).toEqual([authorities.current]);
    expect(authorities.addressedBy({ issuerRaw, serial })).toBeUndefined();
    const all = authorities.all({ revoked: true });
    expect(all.map(({ id, isRevoked }) => [id, isRevoked])).toEqual([
      [authorities.current.id, false],
      [former.id, true],
    ]);
  });

  it('get a successor when the issuing one is revoked, the same in every process', async () => {
    const deps = { db: database.db, box, logger, publicUrl };
    const elsewhere = await createCertificateAuthorities(deps);
    const former = authorities.current;
    await revoke(former.id);
    await Promise.all([authorities.reload(), elsewhere.reload()]);
    expect(authorities.current.id).not.toBe(former.id);
    expect(elsewhere.current.id).toBe(authorities.current.id);
    expect(namesOf(elsewhere.all())).toEqual([authorities.current.certificate.subject]);
  });

  it('keep their keys open: reading again opens only new ones', async () => {
    const { privateKey } = authorities.current;
    await authorities.reload();
    expect(authorities.current.privateKey).toBe(privateKey);
  });

  it('write the addresses of CRL and OCSP into certificates, with their key identifier', () => {
    const { current } = authorities;
    const keyId = current.certificate.subjectKeyId?.toString('hex');
    expect(current.keyId).toBe(keyId);
    expect(keyId).toMatch(/^[0-9a-f]{40}$/);
    const { publicKey } = keys;
    const leaf = current.issueDeviceCertificate({ publicKey, subject: [] });
    const extensions = extensionsOf(leaf.der);
    const points = extensions.get(Oid.cRLDistributionPoints);
    const access = extensions.get(Oid.authorityInfoAccess);
    expect([points?.critical, access?.critical]).toEqual([false, false]);
    expect(readCrlDistributionPoints(points?.value ?? Buffer.alloc(0))).toEqual([
      `${publicUrl}/crl/${keyId}.crl`,
    ]);
    expect(readAuthorityInfoAccess(access?.value ?? Buffer.alloc(0))).toEqual({
      ocsp: [`${publicUrl}/ocsp`],
      caIssuers: [`${publicUrl}/ca/${keyId}.cer`],
    });
  });

  it('write no such addresses without a public URL', async () => {
    const silent = await createCertificateAuthorities({ db: database.db, box, logger });
    const { publicKey } = await generateEcKeyPair();
    const leaf = silent.current.issueDeviceCertificate({ publicKey, subject: [] });
    const extensions = extensionsOf(leaf.der);
    expect(extensions.has(Oid.cRLDistributionPoints)).toBe(false);
    expect(extensions.has(Oid.authorityInfoAccess)).toBe(false);
  });
});
