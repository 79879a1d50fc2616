import { caList, caRotate } from '../../src/cli/keys/ca.js';
import { generateEcKeyPair } from '../../src/crypto/keys/keys.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { insertCertificate } from '../../src/db/pki/certificate-repository.js';
import {
  type CertificateAuthority,
  ensureCertificateAuthority,
} from '../../src/pki/authority/authority.js';
import { certificateRecord } from '../../src/pki/certificates/certificate-record.js';
import { createTestDatabase } from '../helpers/database.js';
import { storePreparedAuthority } from '../helpers/prepared-authority.js';
import { capturingLogger } from '../http/log-lines.js';

describe('muster ca', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>;
  let first: CertificateAuthority;
  let output: string[] = [];
  const write = (line: string) => void output.push(line);
  const box = new SecretBox(Buffer.alloc(32, 1));
  const { logger } = capturingLogger();

  beforeAll(async () => {
    test = await createTestDatabase();
    await storePreparedAuthority(test.db, box);
    first = await ensureCertificateAuthority({ db: test.db, box, logger });
  });
  afterAll(() => test.drop());
  beforeEach(() => {
    output = [];
  });

  const rotate = (bits: 2048 | 3072 | 4096 = 2048) =>
    caRotate({ db: test.db, box }, { bits }, write);
  const day = (date: Date) => date.toISOString().slice(0, 10);

  /** The identity of a device, by the CA that was there first. */
  async function enroll(state: string): Promise<Date> {
    const { publicKey } = await generateEcKeyPair();
    const certificate = first.issueDeviceCertificate({ publicKey, subject: [] });
    await insertCertificate(test.db.knex, certificateRecord(certificate, 'mdm.device'));
    const [row] = await test.db.knex('devices').insert({ device_name: 'one' }).returning('id');
    const { fingerprint, notAfter } = certificate;
    await test.db
      .knex('device_identities')
      .insert({ fingerprint, device_id: row.id, state, udid: null });
    return notAfter;
  }

  it('rotate refuses with another master key and changes nothing', async () => {
    const other = { db: test.db, box: new SecretBox(Buffer.alloc(32, 2)) };
    await expect(caRotate(other, { bits: 2048 }, write)).rejects.toMatchObject({
      code: 'master_key_mismatch',
    });
    expect(output).toEqual([]);
    expect(await test.db.knex('certificates')).toHaveLength(1);
  });

  it('rotate prints the new CA, and that a former one is not needed', async () => {
    await rotate();
    const row = await test.db.knex('certificates').where({ issues_identities: true }).first();
    expect(output).toEqual([
      `${row.subject} issues the identities of devices from now on.`,
      `id ${row.id}, RSA 2048, valid until ${day(row.not_after)}`,
      `SHA-256 ${row.fingerprint_sha256}`,
      `${first.certificate.subject} issued before; no device has an identity of it.`,
    ]);
    await test.db.knex('certificates').delete();
    await test.db.knex('rsa_private_keys').delete();
    await storePreparedAuthority(test.db, box);
    first = await ensureCertificateAuthority({ db: test.db, box, logger });
  });

  it('rotate prints how many devices have an identity of the former CA, and until when', async () => {
    const notAfter = await enroll('active');
    await enroll('renewal');
    await enroll('superseded');
    await rotate(3072);
    expect(output[1]).toMatch(/, RSA 3072, /);
    expect(output.slice(3)).toEqual([
      `${first.certificate.subject} issued before and stays trusted: nothing changes now for ` +
        '2 devices with an identity of it.',
      'Each gets one of the new CA when its identity is renewed, in the last third of its life.',
      `The former CA is needed until then, ${day(notAfter)} at the latest, and to answer ` +
        'enrollments that are under way.',
    ]);
  });

  it('rotate leaves an audit line by the actor cli, without anything secret', async () => {
    const events = await test.db.knex('audit_events').orderBy('id', 'desc');
    const row = await test.db.knex('certificates').where({ issues_identities: true }).first();
    expect(events[0]).toMatchObject({
      actor: 'cli',
      role: 'admin',
      action: 'ca_certificates.rotate',
      outcome: 'success',
      target_type: 'certificates',
      target_id: String(row.id),
      details: { subject: row.subject, fingerprint: row.fingerprint_sha256, former: first.id },
    });
  });

  it('list shows each CA made here, newest first, with what depends on it', async () => {
    await test.db.knex('certificates').where({ id: first.id }).update({ revoked_at: new Date() });
    await caList(test.db, write);
    const rows = await test.db
      .knex('certificates')
      .where({ is_own_ca: true })
      .orderBy('id', 'desc');
    const [current, former] = rows;
    const cells = output.map((line) => line.split(/ {2,}/));
    const last = day(
      (
        await test.db.knex('certificates').max('not_after as at').where({ purpose: 'mdm.device' })
      )[0]?.at,
    );
    expect(cells).toEqual([
      ['ID', 'NAME', 'STATE', 'EXPIRES', 'DEVICES', 'NEEDED UNTIL', 'SHA-256'],
      [
        String(current.id),
        current.subject,
        'issues',
        day(current.not_after),
        '0',
        '-',
        current.fingerprint_sha256,
      ],
      [
        String(former.id),
        former.subject,
        'revoked',
        day(former.not_after),
        '2',
        last,
        former.fingerprint_sha256,
      ],
    ]);
  });
});
