import { randomBytes } from 'node:crypto';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { issueCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { connectDatabase } from '../../../src/db/connection/database.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { insertCertificate } from '../../../src/db/pki/certificate-repository.js';
import { ensureCertificateAuthority } from '../../../src/pki/authority/authority.js';
import { certificateRecord } from '../../../src/pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../../src/pki/certificates/stored-keys.js';
import { checkMasterKey } from '../../../src/pki/master-key/master-key.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { capturingLogger } from '../../http/log-lines.js';

describe('the certificate authority', () => {
  let database: TestDatabase;
  const { logger } = capturingLogger();
  const box = new SecretBox(Buffer.alloc(32, 1));
  const otherBox = new SecretBox(Buffer.alloc(32, 2));
  const now = () => new Date('2026-05-01T12:00:00Z');

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    for (const table of ['certificates', 'rsa_private_keys', 'server_settings']) {
      await database.db.knex(table).delete();
    }
  });

  const ensure = (secretBox = box) =>
    ensureCertificateAuthority({ db: database.db, box: secretBox, logger, now });

  const everything = async () => [
    await database.db.knex('certificates'),
    await database.db.knex('rsa_private_keys'),
    await database.db.knex('server_settings'),
  ];

  it('refuses another master key and changes nothing', async () => {
    await ensure();
    const before = await everything();
    await expect(ensure(otherBox)).rejects.toMatchObject({ code: 'master_key_mismatch' });
    await expect(checkMasterKey(database.db, otherBox)).rejects.toThrow('nothing was changed');
    expect(await everything()).toEqual(before);
  });

  it('refuses another master key also where only keys or only the check are left', async () => {
    await ensure();
    const [check] = await database.db.knex('server_settings');
    await database.db.knex('server_settings').delete();
    await expect(ensure(otherBox)).rejects.toMatchObject({ code: 'master_key_mismatch' });
    await database.db.knex('certificates').delete();
    await database.db.knex('rsa_private_keys').delete();
    await database.db
      .knex('server_settings')
      .insert({ ...check, value: JSON.stringify(check.value) });
    await expect(ensure(otherBox)).rejects.toMatchObject({ code: 'master_key_mismatch' });
    expect(await database.db.knex('certificates')).toEqual([]);
  });

  it('refuses a sealed key that was moved to another record', async () => {
    await ensure();
    const fingerprint_sha256 = randomBytes(32).toString('hex');
    await database.db.knex('rsa_private_keys').update({ fingerprint_sha256 });
    await expect(ensure()).rejects.toMatchObject({ code: 'master_key_mismatch' });
  });

  it('accepts any master key for an empty database and stores nothing by checking it', async () => {
    await checkMasterKey(database.db, otherBox);
    expect(await everything()).toEqual([[], [], []]);
  });

  it('is made at the first start, for ten years, for device certificates only', async () => {
    const { certificate } = await ensure();
    expect(certificate).toMatchObject({
      isCa: true,
      pathLength: 0,
      keyUsage: ['digitalSignature', 'keyEncipherment', 'keyCertSign', 'cRLSign'],
      extendedKeyUsage: [],
      notBefore: new Date('2026-05-01T11:50:00Z'),
      notAfter: new Date('2036-05-01T12:00:00Z'),
    });
    expect(certificate.subject).toMatch(/^CN=Muster Device CA [0-9a-f]{8}$/);
    expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(certificate.subjectKeyId).toEqual(certificate.authorityKeyId);
  });

  it('is stored with its key sealed', async () => {
    const { certificate } = await ensure();
    const [row] = await database.db.knex('certificates');
    const [key] = await database.db.knex('rsa_private_keys');
    expect(row).toMatchObject({
      purpose: 'mdm.cacert',
      is_ca: true,
      der: certificate.der,
      subject: certificate.subject,
      rsa_private_key_id: key.id,
    });
    expect(key).toMatchObject({ key_type: 'RSA', key_size: 2048 });
    expect(SecretBox.isSealed(key.sealed_pkcs8)).toBe(true);
    expect(key.sealed_pkcs8.includes(Buffer.from('2a864886f70d010101', 'hex'))).toBe(false);
  });

  it('is the same at every later start, which logs no new one', async () => {
    const first = await ensure();
    const second = await ensure();
    expect(second.certificate.der).toEqual(first.certificate.der);
    expect(second.privateKey.equals(first.privateKey)).toBe(true);
    expect(await database.db.knex('certificates')).toHaveLength(1);
  });

  it('stays the same when another CA with its key is added', async () => {
    const { certificate } = await ensure();
    const keys = await nextKeys();
    const added = parseCertificate(
      issueCertificate({
        subject: [{ type: 'CN', value: 'Added' }],
        isCa: true,
        keyUsage: ['keyCertSign'],
        publicKey: keys.publicKey,
        issuerKey: keys.privateKey,
        notBefore: certificate.notBefore,
        notAfter: certificate.notAfter,
      }),
    );
    await inTransaction(database.db, async (trx) => {
      const key = { key: keys.privateKey, name: 'Added' };
      const rsa_private_key_id = await storeSealedKey(trx, box, key);
      const record = certificateRecord(added, 'mdm.cacert');
      await insertCertificate(trx, { ...record, rsa_private_key_id });
    });
    expect((await ensure()).certificate.subject).toBe(certificate.subject);
  });

  it('is one when two processes start at once', async () => {
    const db = connectDatabase({ connectionString: database.connectionString });
    try {
      const [one, other] = await Promise.all([
        ensure(),
        ensureCertificateAuthority({ db, box, logger }),
      ]);
      expect(one.certificate.der).toEqual(other.certificate.der);
      expect(await database.db.knex('rsa_private_keys')).toHaveLength(1);
    } finally {
      await db.close();
    }
  });

  it('is made anew when the former one was revoked', async () => {
    const first = await ensure();
    await database.db.knex('certificates').update({ revoked_at: now() });
    const second = await ensure();
    expect(second.certificate.fingerprint).not.toEqual(first.certificate.fingerprint);
  });

  it('issues client certificates for a year with a random serial number of 128 bits', async () => {
    const authority = await ensure();
    const { publicKey } = await nextKeys();
    const subject = [{ type: 'CN', value: 'Device' }];
    const one = authority.issueDeviceCertificate({ publicKey, subject });
    const other = authority.issueDeviceCertificate({ publicKey, subject });
    expect(one).toMatchObject({
      subject: 'CN=Device',
      issuer: authority.certificate.subject,
      isCa: false,
      keyUsage: ['digitalSignature', 'keyEncipherment'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.2'],
      authorityKeyId: authority.certificate.subjectKeyId,
      notBefore: new Date('2026-05-01T11:50:00Z'),
      notAfter: new Date('2027-05-01T12:00:00Z'),
    });
    expect(one.serialHex).not.toBe(other.serialHex);
    expect(one.serialHex.length).toBeGreaterThan(28);
  });

  it('issues no certificate that outlives it', async () => {
    await ensure();
    const late = new Date('2036-01-01T00:00:00Z');
    const authority = await ensureCertificateAuthority({
      db: database.db,
      box,
      logger,
      now: () => late,
    });
    const { publicKey } = await generateEcKeyPair();
    const leaf = authority.issueDeviceCertificate({ publicKey, subject: [] });
    expect(leaf.notAfter).toEqual(new Date('2036-05-01T12:00:00Z'));
    expect(leaf.keyUsage).toEqual(['digitalSignature']);
    expect(parseCertificate(leaf.der).subject).toMatch(/^CN=Muster Device [0-9a-f]{16}$/);
  });
});
