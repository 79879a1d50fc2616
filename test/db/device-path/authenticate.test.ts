import { randomBytes, randomUUID } from 'node:crypto';
import { AuthenticateStore } from '../../../src/db/device-path/authenticate.js';
import type { AuthenticateFacts } from '../../../src/db/device-path/authenticate-message.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { eventually } from '../../push/push-fixture.js';

const SERIAL = 'C02MT66KFLHH';

let database: TestDatabase;
let store: AuthenticateStore;

beforeAll(async () => {
  database = await createTestDatabase();
  store = new AuthenticateStore(database.db);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await knex()('devices').delete();
  await knex()('device_identities').delete();
});

const knex = () => database.db.knex;

function facts(overrides: Partial<AuthenticateFacts> = {}): AuthenticateFacts {
  const absent = { issuer: null, enrollmentId: null, topic: null, platform: null };
  const unknown = { deviceName: null, model: null, modelName: null, productName: null };
  const versions = { osVersion: null, buildVersion: null, imei: null, meid: null };
  const cell = null;
  return {
    ...absent,
    ...unknown,
    ...versions,
    serialNumber: null,
    cell,
    fingerprint: randomBytes(32),
    mayEnroll: true,
    udid: randomUUID(),
    notAfter: new Date(),
    renewAt: new Date(),
    ...overrides,
  };
}

/** The fingerprint of a certificate issued for the request. */
async function certificateFor(enrollment_request_id: number): Promise<Buffer> {
  const fingerprint = randomBytes(32);
  const [row] = await knex()('certificates')
    .insert({
      fingerprint,
      der: fingerprint,
      purpose: 'mdm.device',
      subject: 'CN=d',
      issuer: 'CN=i',
      serial: '01',
      not_before: new Date(),
      not_after: new Date(),
    })
    .returning<{ id: number }[]>('id');
  await knex()('scep_challenges').insert({
    nonce: randomBytes(16),
    csr_fingerprint: randomBytes(32),
    certificate_id: row?.id,
    enrollment_request_id,
  });
  return fingerprint;
}

// What is submitted in one turn of the event loop shares a statement.
describe('messages that share a statement', () => {
  it('enroll one device when their certificates belong to one request', async () => {
    const expires_at = new Date(Date.now() + 60_000);
    const [request] = await knex()('enrollment_requests')
      .insert({ method: 'account_device', account: 'a@example.com', expires_at })
      .returning<{ id: number }[]>('id');
    const id = request?.id ?? 0;
    const certificates = await Promise.all([1, 2, 3].map(() => certificateFor(id)));
    const results = await Promise.all(
      certificates.map((fingerprint) => store.authenticate(facts({ fingerprint }))),
    );
    const outcomes = results.map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['enrolling', 'request_spent', 'request_spent']);
    expect(await knex()('devices').pluck('id')).toEqual([results[0]?.device?.deviceId]);
    expect(await knex()('enrollment_requests').where({ id }).first()).toMatchObject({
      device_id: results[0]?.device?.deviceId,
    });
  });

  it('make one record of one serial number, and the others are raced', async () => {
    await knex()('devices').insert({ serial_number: SERIAL });
    const results = await Promise.all(
      [1, 2].map(() => store.authenticate(facts({ serialNumber: SERIAL }))),
    );
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['enrolling', 'raced']);
    const records = await knex()('devices');
    expect(records).toHaveLength(1);
    const pins = await knex()('device_identities').where({ device_id: records[0].id });
    expect(pins).toHaveLength(1);
  });
});

it('an Authenticate whose UDID is claimed meanwhile is raced, and succeeds when repeated', async () => {
  await knex()('devices').insert({ serial_number: SERIAL });
  const message = facts({ serialNumber: SERIAL });
  const other = await knex().transaction();
  await other('devices').insert({ udid: message.udid });
  const result = store.authenticate(message);
  await eventually(async () => {
    const { rows } = await database.db.pool.query(`select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`);
    expect(rows).toHaveLength(1);
  });
  await other.commit();
  expect(await result).toMatchObject({ outcome: 'raced', device: null });
  expect(await store.authenticate(message)).toMatchObject({ outcome: 'enrolling' });
});

it('a record whose UDID belongs to another serial number is not changed before the move', async () => {
  const udid = randomUUID();
  const rows = [
    { udid, serial_number: 'C02MT66KFLHX', enrollment_state: 'enrolled' },
    { udid: randomUUID(), serial_number: SERIAL, enrollment_state: 'enrolled' },
  ];
  const [named] = await knex()('devices').insert(rows).returning<{ id: number }[]>('id');
  const before = await knex()('devices').orderBy('id');
  const result = await store.authenticate(facts({ udid, serialNumber: SERIAL }));
  expect(result).toMatchObject({ outcome: 'moving', namedId: named?.id, device: null });
  expect(await knex()('devices').orderBy('id')).toEqual(before);
  expect(await knex()('device_identities')).toEqual([]);
});
