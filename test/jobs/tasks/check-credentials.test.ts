import { createCheckCredentialsTask } from '../../../src/jobs/tasks/check-credentials.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const NOW = new Date('2026-06-01T12:00:00Z');
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  await test.db.knex('certificates').delete();
  await test.db.knex('rsa_private_keys').delete();
});

async function linesOfRun() {
  const { logger, lines } = capturingLogger();
  await runTask(createCheckCredentialsTask({ db: test.db, logger, now: () => NOW }));
  return lines;
}

async function insertPushCertificate(notAfter: string, hasKey = true): Promise<void> {
  const [key] = await test.db.knex('rsa_private_keys').insert(
    {
      ...{ key_type: 'RSA', key_size: 2048, sealed_pkcs8: Buffer.of(0) },
      fingerprint_sha256: crypto.randomUUID(),
    },
    'id',
  );
  await test.db.knex('certificates').insert({
    ...{ purpose: 'mdm.pushcert', subject: 'CN=APSP', x509_cn: 'APSP', issuer: 'CN=Apple' },
    ...{ serial: '1', fingerprint: Buffer.alloc(32, 1), der: Buffer.of(0) },
    ...{ push_topic: 'com.apple.mgmt.x', not_before: new Date(0), not_after: new Date(notAfter) },
    rsa_private_key_id: hasKey ? key.id : null,
  });
}

describe('the check of credentials', () => {
  it('says nothing of what lasts for more than thirty days', async () => {
    await insertPushCertificate('2026-07-01T12:00:01Z');
    expect(await linesOfRun()).toEqual([]);
  });

  it('warns each time of a push certificate that ends, and how to keep its topic', async () => {
    await insertPushCertificate('2026-06-08T13:00:00Z');
    for (let run = 0; run < 2; run += 1) {
      const [line, ...others] = await linesOfRun();
      expect(others).toEqual([]);
      expect(line).toMatchObject({
        ...{ level: 40, kind: 'push_certificate', topic: 'com.apple.mgmt.x' },
        ...{ status: 'expiring', days_left: 7 },
      });
      expect(line?.msg).toMatch(/^The push certificate "APSP" \(id \d+\) expires on 2026-06-08, /);
      expect(line?.msg).toContain('in 7 days. Renew it at identity.apple.com under the Apple');
    }
  });

  it('warns of one that has expired', async () => {
    await insertPushCertificate('2026-05-31T12:00:00Z');
    const lines = await linesOfRun();
    expect(lines).toMatchObject([{ level: 40, status: 'expired', days_left: -1 }]);
    expect(lines[0]?.msg).toContain(' expired on 2026-05-31. Renew it');
  });

  it('warns of one without its private key, however long it lasts', async () => {
    await insertPushCertificate('2036-06-01T12:00:00Z', false);
    const lines = await linesOfRun();
    expect(lines).toMatchObject([{ level: 40, status: 'no_private_key' }]);
    expect(lines[0]?.msg).toMatch(/PATCH \/api\/v1\/certificates\/\d+ with pem_private_key, or /);
  });
});
