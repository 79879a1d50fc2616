import type { Server } from 'node:http';
import type { Knex } from 'knex';
import request from 'supertest';
import type { ResourceDefinition } from '../../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../../src/resources/index.js';
import { createTestApi, type TestApi } from '../test-api.js';

const ENROLLED = {
  udid: '00008030-0000000000000001',
  serial_number: 'C02AA0000001',
  platform: 'iOS',
  os_version: '18.1',
  enrollment_state: 'enrolled',
  enrollment_number: 1,
  is_enrolled: true,
  sealed_push: Buffer.from('sealed'),
  push_state: 'ok',
  topic: 'com.apple.mgmt.External.1',
};
const TABLES = ['commands', 'devices', 'device_pushes', 'audit_events', 'idempotency_keys'];

/** Runs after the plan of a create was made, and before its statement. */
let between: () => Promise<unknown> = async () => undefined;
const wakes = { atOnce: 0, inTransaction: 0 };

function withPlans(change: (operations: Operations) => Operations): ResourceDefinition[] {
  return (DEFINITIONS as ResourceDefinition[]).map((definition) => {
    const { operations } = definition;
    return operations?.plan ? { ...definition, operations: change(operations) } : definition;
  });
}

type Operations = NonNullable<ResourceDefinition['operations']>;

let atOnce: TestApi;
let inTransaction: TestApi;

beforeAll(async () => {
  const interrupted = withPlans(({ plan, ...operations }) => ({
    ...operations,
    plan: async (operation) => {
      const made = await plan?.(operation);
      await between();
      return made;
    },
  }));
  const none = withPlans(({ plan: _, ...operations }) => operations);
  atOnce = await createTestApi({ definitions: interrupted, wake: () => (wakes.atOnce += 1) });
  inTransaction = await createTestApi({
    definitions: none,
    wake: () => (wakes.inTransaction += 1),
  });
});
afterAll(() => Promise.all([atOnce.close(), inTransaction.close()]));

let deviceId: number;

beforeEach(async () => {
  between = async () => undefined;
  Object.assign(wakes, { atOnce: 0, inTransaction: 0 });
  for (const { knex } of [atOnce, inTransaction]) {
    await knex.raw(`truncate ${TABLES.join(', ')} restart identity cascade`);
    const [row] = await knex('devices').insert(ENROLLED).returning('id');
    deviceId = row.id;
  }
});

interface Sent {
  path: string;
  body: object;
  headers?: Record<string, string>;
}

function post(app: Server, { path, body, headers = {} }: Sent) {
  return request(app).post(`/api/v1${path}`).set(headers).send(body);
}

function command(attributes: object): Sent {
  const device = { data: { type: 'devices', id: deviceId } };
  const body = { data: { type: 'commands', attributes, relationships: { device } } };
  return { path: '/commands', body };
}

function device(attributes: object): Sent {
  return { path: '/devices', body: { data: { type: 'devices', attributes } } };
}

const QUERY = { request_type: 'DeviceInformation', parameters: { Queries: ['UDID', 'OSVersion'] } };
const KEY = { 'Idempotency-Key': 'one' };

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TAG = /W\/\\"[\w-]{22}\.[\w-]{22}\\"/g;
const TIME = /"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)"/g;
const FIXED_TIMES = ['2031-03-26T21:42:09', '2032-03-26T21:42:09'];

/** Without the values that differ between any two requests. */
function comparable(text: string): string {
  const time = (found: string) => (FIXED_TIMES.some((at) => found.includes(at)) ? found : '"TIME"');
  return text.replace(UUID, 'UUID').replace(TAG, 'TAG').replace(TIME, time);
}

/** All rows, with the bytes of commands as text; the bytes of stored responses are sealed. */
async function rowsOf(knex: Knex): Promise<Record<string, unknown>> {
  const tables = TABLES.map(async (table) => {
    const rows: Record<string, unknown>[] = await knex(table).orderBy(1);
    const shown = rows.map(({ payload, body, ...row }) => {
      const bytes = Buffer.isBuffer(payload) ? payload.toString() : (payload ?? null);
      return { ...row, payload: bytes, hasBody: Buffer.isBuffer(body) };
    });
    return [table, JSON.parse(comparable(JSON.stringify(shown)))];
  });
  return Object.fromEntries(await Promise.all(tables));
}

function answerOf({ status, headers, text }: request.Response) {
  const { location, 'content-type': type, 'idempotency-replayed': replayed } = headers;
  return {
    status,
    location,
    type,
    replayed,
    hasTag: /^W\//.test(headers.etag ?? ''),
    text: comparable(text),
  };
}

const insertsIn = (sql: string[]) => sql.filter((text) => /insert into/.test(text));

const PLANNED: [string, () => Sent][] = [
  ['a command', () => command(QUERY)],
  ['a command without parameters', () => command({ request_type: 'ProfileList' })],
  [
    'a command with all options',
    () =>
      command({
        ...QUERY,
        priority: 3,
        ttl: 7,
        after: '2031-03-26T23:42:09+02:00',
        expires_at: '2032-03-26T21:42:09Z',
      }),
  ],
  [
    'a forced command',
    () => ({ ...command({ request_type: 'AvailableOSUpdates' }), path: '/commands?force=true' }),
  ],
  [
    'a command below its device',
    () => ({ ...command(QUERY), path: `/devices/${deviceId}/commands` }),
  ],
  [
    'a command with a sparse fieldset',
    () => ({ ...command(QUERY), path: '/commands?fields[commands]=status,device' }),
  ],
  [
    'a command with ids as text',
    () => ({
      ...command(QUERY),
      headers: { Accept: 'application/vnd.api+json;profile="urn:muster:string-ids"' },
    }),
  ],
  ['a command with a key', () => ({ ...command(QUERY), headers: KEY })],
  [
    'a device',
    () => device({ serial_number: 'C02NEW', device_name: "O'Neil?", is_supervised: true }),
  ],
  ['a device with a key', () => ({ ...device({ serial_number: 'C02NEW' }), headers: KEY })],
];

/** The answer has `meta`, which no read shows. */
const WARNED: [string, () => Sent][] = [
  ['a command with a warning', () => command({ request_type: 'DisableLostMode' })],
  [
    'a command with a warning and a key',
    () => ({ ...command({ request_type: 'DisableLostMode' }), headers: KEY }),
  ],
];

describe('a create in one statement', () => {
  it.each([...PLANNED, ...WARNED])(
    'stores and shows %s as a transaction does',
    async (_name, sent) => {
      const one = await atOnce.statements(() => post(atOnce.app, sent()));
      expect(one.result.status).toBe(201);
      const [statement, ...others] = insertsIn(one.sql);
      expect(statement).toMatch(/^with guard as/);
      expect(others).toEqual([]);
      const other = await post(inTransaction.app, sent());
      expect(answerOf(one.result)).toEqual(answerOf(other));
      expect(await rowsOf(atOnce.knex)).toEqual(await rowsOf(inTransaction.knex));
      expect(wakes.atOnce).toBe(wakes.inTransaction);
    },
  );

  it.each(PLANNED)('shows %s as a read does, under the same entity tag', async (_name, sent) => {
    const given = sent();
    const { status, headers, text } = await post(atOnce.app, given);
    expect(status).toBe(201);
    const query = given.path.split('?fields')[1];
    const path = `${headers.location}${query === undefined ? '' : `?fields${query}`}`;
    const read = await request(atOnce.app)
      .get(path)
      .set('Accept', given.headers?.Accept ?? '*/*');
    expect([read.text, read.headers.etag]).toEqual([text, headers.etag]);
  });

  it.each(WARNED)('shows the warning of %s', async (_name, sent) => {
    const { status, body } = await post(atOnce.app, sent());
    expect([status, Object.keys(body.meta)]).toEqual([201, ['warnings']]);
    expect(body.meta.warnings).toEqual([expect.stringMatching(/has not reported is_supervised/)]);
  });

  it('repeats the stored answer to the same key', async () => {
    const sent = { ...command(QUERY), headers: KEY };
    const first = await post(atOnce.app, sent);
    const again = await post(atOnce.other, sent);
    expect(again.headers['idempotency-replayed']).toBe('true');
    for (const name of ['location', 'etag']) expect(again.headers[name]).toBe(first.headers[name]);
    expect([again.status, again.text]).toEqual([201, first.text]);
    const changed = await post(atOnce.app, {
      ...command({ request_type: 'UserList' }),
      headers: KEY,
    });
    expect([changed.status, changed.body.errors[0].code]).toEqual([422, 'idempotency_key_reused']);
    expect(await atOnce.knex('commands')).toHaveLength(1);
    expect(await atOnce.knex('audit_events')).toHaveLength(1);
  });

  it('claims a key again after a day', async () => {
    const sent = { ...command(QUERY), headers: KEY };
    const first = await post(atOnce.app, sent);
    await atOnce.knex.raw(`update idempotency_keys set created_at = now() - interval '25 hours'`);
    const { result, sql } = await atOnce.statements(() => post(atOnce.app, sent));
    expect(result.status).toBe(201);
    expect(insertsIn(sql)).toHaveLength(1);
    expect(result.headers.location).not.toBe(first.headers.location);
    const again = await post(atOnce.app, sent);
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([result.text, 'true']);
    expect(await atOnce.knex('commands')).toHaveLength(2);
  });
});

describe('a create that one statement cannot do', () => {
  const REFUSED: [string, () => Sent][] = [
    ['an unknown device', () => ({ ...command(QUERY), path: '/devices/999/commands' })],
    ['an unknown request type', () => command({ request_type: 'MakeCoffee' })],
    [
      'a command that the device does not take',
      () => command({ request_type: 'SetAutoAdminPassword' }),
    ],
    ['a time in the past', () => command({ ...QUERY, expires_at: '2020-01-01T00:00:00Z' })],
    ['a number out of range', () => command({ ...QUERY, ttl: 100_000 })],
    ['a device that exists', () => device({ serial_number: ENROLLED.serial_number.toLowerCase() })],
    ['another device with a UDID', () => device({ udid: ENROLLED.udid.toLowerCase() })],
    ['a device without identifiers', () => device({ device_name: 'x' })],
    ['a key for a refused command', () => ({ ...command({ request_type: '' }), headers: KEY })],
  ];

  it.each(REFUSED)('refuses %s as a transaction does', async (_name, sent) => {
    const one = await post(atOnce.app, sent());
    const other = await post(inTransaction.app, sent());
    expect(one.status).toBeGreaterThanOrEqual(400);
    expect(answerOf(one)).toEqual(answerOf(other));
    expect(await rowsOf(atOnce.knex)).toEqual(await rowsOf(inTransaction.knex));
  });

  const OTHERS: [string, () => Sent][] = [
    [
      'a command whose secret is kept',
      () => command({ request_type: 'DeviceLock', parameters: { PIN: '123456' } }),
    ],
    ['a command with its device', () => ({ ...command(QUERY), path: '/commands?include=device' })],
  ];

  it.each(OTHERS)('stores %s in a transaction', async (_name, sent) => {
    for (const { knex } of [atOnce, inTransaction]) {
      await knex('devices').update({ platform: 'macOS' });
    }
    const { result, sql } = await atOnce.statements(() => post(atOnce.app, sent()));
    expect(result.status).toBe(201);
    expect(sql.filter((text) => text.startsWith('with guard'))).toEqual([]);
    expect(answerOf(await post(inTransaction.app, sent()))).toEqual(answerOf(result));
  });
});

describe('a create in one statement, meanwhile', () => {
  const stored = async () => [
    (await atOnce.knex('commands')).length,
    (await atOnce.knex('device_pushes')).length,
    (await atOnce.knex('audit_events')).length,
    (await atOnce.knex('idempotency_keys')).length,
  ];
  const sent = () => ({ ...command(QUERY), headers: KEY });

  it('stores nothing for a device that was deleted', async () => {
    between = () => atOnce.knex('devices').delete();
    const { status, body } = await post(atOnce.app, sent());
    expect([status, body.errors[0].code]).toEqual([404, 'not_found']);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it('waits for the deletion of the device', async () => {
    const trx = await atOnce.knex.transaction();
    await trx('devices').where({ id: deviceId }).delete();
    const answer = post(atOnce.app, sent()).then((response) => response);
    await blocked(atOnce.knex);
    await trx.commit();
    expect((await answer).status).toBe(404);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it('checks a device anew that has unenrolled', async () => {
    const change = { enrollment_state: 'unenrolled', is_enrolled: false };
    between = () => atOnce.knex('devices').update(change);
    const { status, body } = await post(atOnce.app, sent());
    expect([status, body.errors[0].code]).toEqual([409, 'device_unenrolled']);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it('checks a device anew that has enrolled anew', async () => {
    between = () => atOnce.knex('devices').update({ enrollment_number: 2, platform: 'macOS' });
    const lock = { ...command({ request_type: 'ClearRestrictionsPassword' }), headers: KEY };
    const { status, body } = await post(atOnce.app, lock);
    expect([status, body.errors[0].code]).toEqual([422, 'unsupported_on_platform']);
    between = () => atOnce.knex('devices').increment('enrollment_number');
    const { result, sql } = await atOnce.statements(() => post(atOnce.app, sent()));
    expect(result.status).toBe(201);
    expect(sql.filter((text) => /^insert into "?commands/.test(text))).toHaveLength(1);
    expect(await stored()).toEqual([1, 1, 1, 1]);
  });

  it('stores one command for one key with equal requests at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        post([atOnce.app, atOnce.other][n % 2] as Server, sent()),
      ),
    );
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(all[0]?.status).toBe(201);
    const replayed = all.filter(({ headers }) => headers['idempotency-replayed'] === 'true');
    expect(replayed).toHaveLength(11);
    expect(await stored()).toEqual([1, 1, 1, 1]);
  });

  it('waits for the request that has claimed the key', async () => {
    const trx = await atOnce.knex.transaction();
    const claim = { actor: 'admin:tester', key: 'one', request_digest: Buffer.alloc(32) };
    await trx('idempotency_keys').insert({ ...claim, status: 204, headers: '{}' });
    const answer = post(atOnce.app, sent()).then((response) => response);
    await blocked(atOnce.knex);
    await trx.rollback();
    expect((await answer).status).toBe(201);
    expect(await stored()).toEqual([1, 1, 1, 1]);
  });

  it('makes one device of one serial number with equal requests at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const serial_number = n % 2 === 0 ? 'C02SAME' : 'c02same';
        return post(n % 3 === 0 ? atOnce.other : atOnce.app, device({ serial_number }));
      }),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)]);
    expect(await atOnce.knex('devices').whereILike('serial_number', 'C02SAME')).toHaveLength(1);
  });

  it('sees the device of a transaction whose locks it waited for', async () => {
    const trx = await atOnce.knex.transaction();
    await trx.raw(`select pg_advisory_xact_lock(x'64657669'::integer, hashtext('c02late'))`);
    const answer = post(atOnce.app, device({ serial_number: 'C02LATE' })).then((one) => one);
    await blocked(atOnce.knex);
    await trx('devices').insert({ serial_number: 'C02LATE' });
    await trx.commit();
    const { status, body } = await answer;
    expect([status, body.errors[0].code]).toEqual([409, 'already_exists']);
    expect(await atOnce.knex('devices').where({ serial_number: 'C02LATE' })).toHaveLength(1);
  });

  it('is not repeated when its connection is lost', async () => {
    const trx = await atOnce.knex.transaction();
    await trx('devices').where({ id: deviceId }).forUpdate();
    const answer = post(atOnce.app, sent()).then((response) => response);
    const pid = await blocked(atOnce.knex);
    await atOnce.knex.raw('select pg_terminate_backend(?)', [pid]);
    const { status, body } = await answer;
    await trx.rollback();
    expect([status, body.errors[0].code]).toEqual([503, 'unavailable']);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });
});

/** The process that waits for a lock in this database. */
async function blocked(knex: Knex): Promise<number> {
  for (;;) {
    const { rows } = await knex.raw(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return rows[0].pid;
  }
}
