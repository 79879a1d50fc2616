import { connectDatabase } from '../../../src/db/connection/database.js';
import {
  checkCredentials,
  checkCredentialsAtStart,
  createCheckCredentialsTask,
} from '../../../src/jobs/tasks/check-credentials.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const END = new Date('2026-06-01T12:00:00Z');
const DAY_MS = 86_400_000;
const [INFO, WARN] = [30, 40];

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  const tables = 'certificates, rsa_private_keys, dep_accounts, credential_notices, audit_events';
  await test.db.knex.raw(`truncate ${tables} cascade`);
});

const daysBefore = (days: number) => new Date(END.getTime() - days * DAY_MS);

async function linesOf(work: typeof checkCredentials | typeof checkCredentialsAtStart, now: Date) {
  const { logger, lines } = capturingLogger();
  await work({ db: test.db, logger, now: () => now });
  return lines;
}

const lines = (days: number) => linesOf(checkCredentials, daysBefore(days));
const linesAtStart = (days: number) => linesOf(checkCredentialsAtStart, daysBefore(days));

async function insertPushCertificate(
  columns: Record<string, unknown> = {},
  hasKey = true,
): Promise<number> {
  const [key] = await test.db.knex('rsa_private_keys').insert(
    {
      key_type: 'RSA',
      key_size: 2048,
      sealed_pkcs8: Buffer.of(0),
      fingerprint_sha256: crypto.randomUUID(),
    },
    'id',
  );
  const [row] = await test.db.knex('certificates').insert(
    {
      purpose: 'mdm.pushcert',
      subject: 'CN=APSP',
      x509_cn: 'APSP',
      issuer: 'CN=Apple',
      serial: '1',
      fingerprint: Buffer.alloc(32, key.id),
      der: Buffer.of(0),
      push_topic: 'com.apple.mgmt.x',
      not_before: new Date(0),
      not_after: END,
      rsa_private_key_id: hasKey ? key.id : null,
      ...columns,
    },
    'id',
  );
  return row.id;
}

function events() {
  return test.db.knex('audit_events').orderBy('id');
}

describe('the check of credentials', () => {
  it('logs nothing for credentials that last for more than sixty days', async () => {
    await insertPushCertificate();
    expect(await lines(60.001)).toEqual([]);
    expect(await events()).toEqual([]);
  });

  it('logs once at 60, 30, 14, 7 and 1 days, and at the end, how to keep the topic', async () => {
    const id = await insertPushCertificate({ apple_account: 'ada@example.com' });
    const logged: unknown[] = [];
    for (let days = 62; days > -3; days -= 0.5) {
      for (const { level, msg, days_left } of await lines(days))
        logged.push([days, level, msg, days_left]);
    }
    const text = (when: string) =>
      `The push certificate "APSP" (id ${id}) ${when}. Renew it at identity.apple.com under the ` +
      'Apple Account ada@example.com, so that its topic stays (with another topic every device ' +
      'must enroll anew), and POST it to /api/v1/push_certificates; `muster push-cert request` ' +
      'makes the request for Apple, `muster push-cert import` stores the answer.';
    expect(logged).toEqual([
      [60, INFO, text('expires on 2026-06-01, in 60 days'), 60],
      [30, WARN, text('expires on 2026-06-01, in 30 days'), 30],
      [14, WARN, text('expires on 2026-06-01, in 14 days'), 14],
      [7, WARN, text('expires on 2026-06-01, in 7 days'), 7],
      [1, WARN, text('expires on 2026-06-01, in 1 day'), 1],
      [0, WARN, text('expired on 2026-06-01'), 0],
    ]);
  });

  it('leaves an event in the audit trail each time', async () => {
    const id = await insertPushCertificate();
    await lines(29.5);
    await lines(-0.5);
    const rows = await events();
    const details = { kind: 'push_certificate', name: 'APSP', not_after: END.toISOString() };
    const shown = rows.map(({ actor, role, action, target_type, target_id, details }) => [
      actor,
      role,
      action,
      target_type,
      target_id,
      details,
    ]);
    expect(shown).toEqual([
      [
        'system',
        'system',
        'credentials.expiring',
        'certificates',
        String(id),
        { ...details, days_left: 29 },
      ],
      [
        'system',
        'system',
        'credentials.expired',
        'certificates',
        String(id),
        { ...details, days_left: -1 },
      ],
    ]);
  });

  it('logs only the current number of days for a credential first checked late', async () => {
    await insertPushCertificate();
    expect(await lines(5)).toMatchObject([{ level: WARN, days_left: 5 }]);
    expect(await lines(13)).toEqual([]);
    expect(await test.db.knex('credential_notices').pluck('days')).toEqual([7]);
  });

  it('restarts when the certificate is renewed, and for each kind', async () => {
    await insertPushCertificate();
    await lines(5);
    await insertPushCertificate({ not_after: new Date(END.getTime() + DAY_MS) });
    await test.db
      .knex('dep_accounts')
      .insert({ server_name: 'ABM', access_token_expiry: END })
      .returning('id');
    expect(await lines(5)).toMatchObject([
      { kind: 'dep_token', days_left: 5 },
      { kind: 'push_certificate', days_left: 6 },
    ]);
    const rows = await events();
    expect(rows.map(({ target_type }) => target_type)).toEqual([
      'certificates',
      'dep_accounts',
      'certificates',
    ]);
  });

  it('logs once, however many processes check at the same time', async () => {
    await insertPushCertificate();
    const others = [1, 2, 3, 4].map(() =>
      connectDatabase({ connectionString: test.connectionString, poolSize: 1 }),
    );
    const { logger, lines: all } = capturingLogger();
    const now = () => daysBefore(5);
    await Promise.all(
      [test.db, ...others].map((db) => runTask(createCheckCredentialsTask({ db, logger, now }))),
    );
    await Promise.all(others.map((db) => db.close()));
    expect(all).toHaveLength(1);
    expect(await events()).toHaveLength(1);
  });

  it('includes the certificate of TLS_CERT_FILE', async () => {
    const { logger, lines: logged } = capturingLogger();
    const names = { commonName: undefined, subject: 'CN=mdm' };
    const tlsFile = () => ({ ...names, notBefore: new Date(0), notAfter: END });
    const deps = { db: test.db, logger, now: () => daysBefore(3), tlsFile };
    await checkCredentials(deps);
    await checkCredentials(deps);
    expect(logged).toMatchObject([
      {
        level: WARN,
        kind: 'ssl_certificate',
        id: null,
        days_left: 3,
        msg:
          'The TLS certificate "CN=mdm" (of TLS_CERT_FILE) expires on 2026-06-01, in 3 days. ' +
          'Devices refuse it once it has expired: replace TLS_CERT_FILE and TLS_KEY_FILE.',
      },
    ]);
    const [event] = await events();
    expect([event.target_type, event.target_id]).toEqual(['credentials', null]);
  });

  it('logs nothing for a former CA that no device depends on', async () => {
    await insertPushCertificate({ purpose: 'mdm.cacert', push_topic: null, is_own_ca: true });
    expect(await lines(5)).toEqual([]);
  });
});

describe('the start of a process', () => {
  it('logs one line with all credentials that need attention, each time', async () => {
    await insertPushCertificate();
    await insertPushCertificate({ push_topic: 'b', not_after: new Date('2036-01-01') }, false);
    const first = await linesAtStart(5);
    expect(first).toHaveLength(2);
    const again = await linesAtStart(5);
    expect(again).toEqual([first[1]].map((line) => ({ ...line, time: again[0]?.time })));
    expect(again[0]).toMatchObject({
      level: WARN,
      credentials: [
        { kind: 'push_certificate', status: 'expiring', days_left: 5 },
        { kind: 'push_certificate', status: 'no_private_key' },
      ],
      msg:
        '2 credentials have expired, end within 14 days or lack their private key: see ' +
        '/api/v1/credentials',
    });
  });

  it('logs no such line while nothing is due', async () => {
    await insertPushCertificate();
    expect(await linesAtStart(14)).toMatchObject([{ days_left: 14 }]);
    expect(await linesAtStart(14)).toEqual([]);
  });
});
