import { randomUUID } from 'node:crypto';
import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { createMetrics, type Metrics } from '../../src/metrics/metrics.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { capturingLogger } from '../http/log-lines.js';
import { parseExposition, valuesOf } from './exposition.js';

const DAY_MS = 86_400_000;
const TOPIC = 'com.apple.mgmt.External.metrics';

const NO_BACKUPS = { backupEvery: undefined };

let test: TestDatabase;
const { logger } = capturingLogger();

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function metricsOf(db: Database = test.db): Metrics {
  return createMetrics({ db, logger, version: '1.2.3', role: 'worker', config: NO_BACKUPS });
}

async function fill({ knex }: Database): Promise<void> {
  const [device] = await knex('devices').insert({ udid: 'SECRET-UDID' }).returning('id');
  await knex('commands').insert({
    uuid: randomUUID(),
    device_id: device.id,
    request_type: 'DeviceLock',
    payload: Buffer.from('x'),
    queued_at: knex.raw("now() - interval '5 minutes'"),
  });
  await knex('device_pushes').insert({ device_id: device.id, due_at: new Date(0) });
  const blocked = { blocked_reason: 'BadCertificate', retry_at: new Date() };
  await knex('push_topics').insert({ topic: TOPIC, ...blocked });
  const process = { id: 'p', role: 'web', hostname: 'secret-host', pid: 1, version: '1' };
  await knex('server_processes').insert(process);
  await knex.raw(
    `select graphile_worker.add_job('push.rearm', '{"note":"secret-payload"}',
       run_at := now() - interval '1 hour')`,
  );
  for (const [index, days] of [40.5, 10.5].entries()) {
    await knex('certificates').insert({
      purpose: 'mdm.cacert',
      subject: 'CN=CA',
      issuer: 'CN=CA',
      x509_cn: 'CA "1"',
      serial: `${index}`,
      der: Buffer.from([index]),
      fingerprint: Buffer.alloc(32, index),
      not_before: new Date(0),
      not_after: new Date(Date.now() + days * DAY_MS),
    });
  }
}

describe('metrics', () => {
  it('are present before anything happened, each with help, in a format that parses', async () => {
    const text = await metricsOf().text();
    const families = parseExposition(text);
    const ours = [...families].filter(([name]) => name.startsWith('muster_'));
    const kinds = ours.map(([name, { type }]) => `${name} ${type}`);
    expect(kinds.sort((a, b) => (a < b ? -1 : 1))).toEqual([
      'muster_backup_age_seconds gauge',
      'muster_backup_interval_seconds gauge',
      'muster_build_info gauge',
      'muster_commands_oldest_age_seconds gauge',
      'muster_commands_pending gauge',
      'muster_credential_days_left gauge',
      'muster_credential_expiry_timestamp_seconds gauge',
      'muster_database_pool_connections gauge',
      'muster_database_pool_waiting gauge',
      'muster_database_up gauge',
      'muster_dep_account_ok gauge',
      'muster_dep_assignments_due gauge',
      'muster_dep_devices gauge',
      'muster_dep_sync_age_seconds gauge',
      'muster_device_health gauge',
      'muster_device_push_states gauge',
      'muster_devices gauge',
      'muster_enrolled_devices gauge',
      'muster_fleet_counted_timestamp_seconds gauge',
      'muster_http_request_duration_seconds histogram',
      'muster_items gauge',
      'muster_job_duration_seconds histogram',
      'muster_jobs gauge',
      'muster_jobs_late_seconds gauge',
      'muster_mdm_messages_total counter',
      'muster_processes_alive gauge',
      'muster_push_service_reachable gauge',
      'muster_push_topic_blocked gauge',
      'muster_pushes_due gauge',
      'muster_pushes_late_seconds gauge',
      'muster_pushes_total counter',
    ]);
    for (const [name, { help }] of ours) expect([name, help.length > 15]).toEqual([name, true]);
    expect(valuesOf(text, 'muster_build_info')).toEqual({ 'worker 1.2.3': 1 });
    expect(valuesOf(text, 'muster_pushes_total')).toEqual({ delivered: 0 });
    expect(valuesOf(text, 'muster_push_service_reachable')).toEqual({ '': 1 });
    expect(valuesOf(text, 'muster_jobs')).toEqual({
      waiting: 0,
      scheduled: 0,
      running: 0,
      retrying: 0,
      dead: 0,
    });
    expect(valuesOf(text, 'muster_commands_pending')).toEqual({ Queued: 0, Sent: 0, NotNow: 0 });
    const memory = valuesOf(text, 'process_resident_memory_bytes');
    expect(Object.values(memory).every((bytes) => bytes > 10_000_000)).toBe(true);
    expect(families.get('nodejs_eventloop_lag_p99_seconds')?.samples).toHaveLength(1);
  });

  it('count what is recorded', async () => {
    const metrics = metricsOf();
    metrics.observeRequest('mdm', 200, 0.00390625);
    metrics.observeRequest('mdm', 200, 0.125);
    metrics.observeRequest('api', 'aborted', 30);
    metrics.countMessage('Idle');
    metrics.countMessage('Idle');
    metrics.countMessage('TokenUpdate');
    metrics.countPushes('delivered', 500);
    metrics.countPushes('BadDeviceToken', 2);
    metrics.observeJob('push.rearm', 'ok', 0.01);
    metrics.observeJob('push.rearm', 'dead', 7);
    metrics.showPushService(false);
    const text = await metrics.text();
    const requests = 'muster_http_request_duration_seconds';
    expect(valuesOf(text, `${requests}_count`)).toEqual({ '200 mdm': 2, 'aborted api': 1 });
    expect(valuesOf(text, `${requests}_sum`)).toEqual({ '200 mdm': 0.12890625, 'aborted api': 30 });
    expect(valuesOf(text, `${requests}_bucket`)).toMatchObject({
      '0.0025 200 mdm': 0,
      '0.005 200 mdm': 1,
      '0.1 200 mdm': 1,
      '0.25 200 mdm': 2,
      '10 aborted api': 0,
      '+Inf aborted api': 1,
    });
    expect(valuesOf(text, 'muster_mdm_messages_total')).toEqual({ Idle: 2, TokenUpdate: 1 });
    expect(valuesOf(text, 'muster_pushes_total')).toEqual({ delivered: 500, BadDeviceToken: 2 });
    expect(valuesOf(text, 'muster_push_service_reachable')).toEqual({ '': 0 });
    metrics.showPushService(true);
    expect(valuesOf(await metrics.text(), 'muster_push_service_reachable')).toEqual({ '': 1 });
    expect(valuesOf(text, 'muster_job_duration_seconds_count')).toEqual({
      'ok push.rearm': 1,
      'dead push.rearm': 1,
    });
  });

  it('make no label of unusual reasons of a push service', async () => {
    const metrics = metricsOf();
    metrics.countPushes('<html>\n"quoted"', 1);
    metrics.countPushes('x'.repeat(65), 1);
    for (let index = 0; index < 200; index += 1) metrics.countPushes(`Reason${index}`, 1);
    const results = valuesOf(await metrics.text(), 'muster_pushes_total');
    expect(Object.keys(results)).toHaveLength(66);
    expect([results.Reason63, results.Reason64, results.other]).toEqual([1, undefined, 138]);
  });

  it('do not mix with those of another server in this process', async () => {
    const [one, other] = [metricsOf(), metricsOf()];
    one.countMessage('Idle');
    expect(valuesOf(await other.text(), 'muster_mdm_messages_total')).toEqual({});
    expect(valuesOf(await one.text(), 'muster_mdm_messages_total')).toEqual({ Idle: 1 });
  });

  it('lack the figures that the database does not return, and include all others', async () => {
    const url = new URL(test.connectionString);
    url.pathname = '/no_such_database';
    const away = connectDatabase({ connectionString: url.href });
    const text = await metricsOf(away).text();
    await away.close();
    expect(valuesOf(text, 'muster_database_up')).toEqual({ '': 0 });
    const absent = ['commands_pending', 'pushes_due', 'jobs', 'credential_days_left'];
    for (const name of absent) {
      expect([name, valuesOf(text, `muster_${name}`)]).toEqual([name, {}]);
    }
    expect(valuesOf(text, 'muster_build_info')).toEqual({ 'worker 1.2.3': 1 });
    expect(valuesOf(text, 'muster_database_pool_waiting')).toEqual({
      admin: 0,
      background: 0,
      device: 0,
      list: 0,
    });
  });

  it('show figures of the database, and no secrets', async () => {
    await fill(test.db);
    const text = await metricsOf().text();
    expect(valuesOf(text, 'muster_database_up')).toEqual({ '': 1 });
    expect(valuesOf(text, 'muster_commands_pending')).toEqual({ Queued: 1, Sent: 0, NotNow: 0 });
    const { Queued = 0 } = valuesOf(text, 'muster_commands_oldest_age_seconds');
    expect(Math.floor(Queued / 60)).toBe(5);
    expect(valuesOf(text, 'muster_pushes_due')).toEqual({ '': 1 });
    expect(valuesOf(text, 'muster_pushes_late_seconds')['']).toBeGreaterThan(1e9);
    expect(valuesOf(text, 'muster_push_topic_blocked')).toEqual({ [TOPIC]: 1 });
    expect(valuesOf(text, 'muster_processes_alive')).toEqual({ web: 1 });
    expect(valuesOf(text, 'muster_jobs')).toMatchObject({ waiting: 1, dead: 0 });
    expect(valuesOf(text, 'muster_jobs_late_seconds')['']).toBeGreaterThan(3599);
    expect(valuesOf(text, 'muster_credential_days_left')).toEqual({
      'certificate_authority CA "1"': 10,
    });
    const authorities = await test.db.knex('certificates').orderBy('id').select('id', 'not_after');
    const expiries = authorities.map(({ id, not_after }) => [
      `${id} certificate_authority CA "1"`,
      not_after.getTime() / 1000,
    ]);
    const shown = valuesOf(text, 'muster_credential_expiry_timestamp_seconds');
    expect(shown).toEqual(Object.fromEntries(expiries));
    expect(text).not.toMatch(/secret/i);
  });

  it('show the stages of DEP devices, by account', async () => {
    const { knex } = test.db;
    const { rows } = await knex.raw(`insert into dep_accounts (status, sync_finished_at)
      values ('ok', now() - interval '1 hour'), ('token_expired', null) returning id`);
    const [first, second] = rows.map(({ id }: { id: number }) => String(id));
    const listed_at = new Date();
    const add = (serial_number: string, row: object) =>
      knex('dep_devices').insert({ dep_account_id: first, serial_number, listed_at, ...row });
    const [device] = await knex('devices').insert({ serial_number: 'C02B' }).returning('id');
    await add('C02A', { is_enrolled: true });
    await add('C02B', { assignment_due_at: new Date(), device_id: device.id });
    await add('C02C', { is_enrolled: true, assignment_due_at: new Date() });
    await add('C02D', { listed_at: null });
    const text = await metricsOf().text();
    const none = ['assigned', 'contacted', 'enrolled', 'pushed', 'removed', 'unassigned'].map(
      (stage) => [`${second} ${stage}`, 0],
    );
    expect(valuesOf(text, 'muster_dep_devices')).toEqual({
      [`${first} unassigned`]: 1,
      [`${first} enrolled`]: 2,
      [`${first} assigned`]: 0,
      [`${first} pushed`]: 0,
      [`${first} contacted`]: 0,
      [`${first} removed`]: 0,
      ...Object.fromEntries(none),
    });
    const due = valuesOf(text, 'muster_dep_assignments_due');
    expect(due).toEqual({ [first]: 1, [second]: 0 });
    expect(valuesOf(text, 'muster_dep_account_ok')).toEqual({ [first]: 1, [second]: 0 });
    const ages = valuesOf(text, 'muster_dep_sync_age_seconds');
    expect([Object.keys(ages), Math.floor((ages[first] ?? 0) / 60)]).toEqual([[first], 60]);
  });

  it('show the interval of expected backups also before the first of them', async () => {
    const unexpected = await metricsOf().text();
    expect(valuesOf(unexpected, 'muster_backup_interval_seconds')).toEqual({});
    const about = { version: '1', role: 'all', config: { backupEvery: DAY_MS } };
    const shown = async () => {
      const text = await createMetrics({ db: test.db, logger, ...about }).text();
      return ['interval', 'age'].map((name) => valuesOf(text, `muster_backup_${name}_seconds`));
    };
    expect(await shown()).toEqual([{ '': 86_400 }, {}]);
    await test.db.knex('backups').insert({
      ...{ state: 'finished', source: 'command', file: '/x.backup', is_encrypted: false },
      ...{ started_at: new Date(Date.now() - 60_000), finished_at: new Date() },
    });
    expect(await shown()).toEqual([{ '': 86_400 }, { '': expect.closeTo(60, -1) }]);
  });

  it('show the certificate of TLS_CERT_FILE', async () => {
    const notAfter = new Date('2030-01-01T00:00:00Z');
    const names = { commonName: 'mdm.example.com', subject: 'CN=mdm' };
    const tlsFile = () => ({ ...names, notBefore: new Date(0), notAfter });
    const about = { version: '1', role: 'all', config: NO_BACKUPS };
    const metrics = createMetrics({ db: test.db, logger, ...about, tlsFile });
    const shown = valuesOf(await metrics.text(), 'muster_credential_expiry_timestamp_seconds');
    expect(shown['file ssl_certificate mdm.example.com']).toBe(notAfter.getTime() / 1000);
  });

  it('show the credentials that expire first when there are many', async () => {
    const row = { purpose: 'dep.anchor', issuer: 'CN=x', serial: '1', der: Buffer.of(0) };
    const rows = Array.from({ length: 250 }, (_, index) => ({
      ...row,
      subject: `CN=${index}`,
      not_before: new Date(0),
      fingerprint: Buffer.alloc(32, `anchor ${index}`),
      not_after: new Date(Date.UTC(2040, 0, 1) + index * DAY_MS),
    }));
    await test.db.knex('certificates').insert(rows);
    const shown = valuesOf(await metricsOf().text(), 'muster_credential_expiry_timestamp_seconds');
    expect(Object.keys(shown)).toHaveLength(200);
    expect(Math.max(...Object.values(shown))).toBe(Date.UTC(2040, 0, 198) / 1000);
  });
});
