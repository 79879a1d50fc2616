import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type ListCase, READER, RESOURCES } from '../../../bench/scale/list-cases.js';
import { explainList, LIST_SESSION } from '../../../bench/scale/plans.js';
import { LIMITS } from '../../../bench/scale/walk.js';
import { numbered } from '../../../src/db/connection/prepared-statements.js';
import type { StatementRunner } from '../../../src/db/connection/statement-runner.js';
import { listRows } from '../../../src/db/store/resource-store-list.js';
import { columnsOf } from '../../../src/jsonapi/query/column-values.js';
import { parseCollectionQuery } from '../../../src/jsonapi/query/query.js';
import type { ListQuery } from '../../../src/jsonapi/store.js';
import { booleansOf } from '../../../src/resources/common.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const COMMANDS = 20_000;
const DEVICES = 5_000;
/** Of a page of 30; whole tables have thousands. */
const MAX_READ = 200;

// Those that wait or failed are the oldest: a list that reads the newest first meets them last. What else is
// rare has the greatest ids, which a list in the order of its ids meets last.
const FILL = `
insert into devices (serial_number, device_name, asset_tag, os_version, enrolled_at, udid, hostname, last_seen,
    created_at, enrollment_state, enrollment_type, enrollment_method, push_state)
  select 'SERIAL' || n, 'Device ' || n, 'A-' || n, '17.' || n, now() - n * interval '1 minute',
    upper(md5('device ' || n)), 'mac-' || md5('host ' || n), now() - n * interval '1 minute', now() - n * interval '1 minute', 'enrolled',
    'device', 'profile', 'ok'
  from generate_series(1, ${DEVICES}) n;
update devices set enrollment_state = 'unenrolled', unenrolled_at = '2026-05-01', push_state = 'bad_token',
    enrollment_type = 'user', enrollment_method = 'account_user', is_mdm_lost_mode_enabled = true,
    awaiting_configuration = true, created_at = '2026-05-01', udid = 'RARE-UDID-1', hostname = 'rare.example.com'
  where id = (select max(id) from devices);
update devices set model = 'MGNR3LL', product_name = 'Mac16,1', time_zone = 'Europe/Paris', iccid = '89',
    is_supervised = true, user_approved_enrollment = true, fde_enabled = true, firewall_enabled = true,
    sip_enabled = true, passcode_present = true, passcode_compliant = true, is_activation_lock_enabled = false,
    is_multi_user = false, is_apple_silicon = true, authenticated_at = now(),
    wifi_mac = 'a0:b0:' || id, imei = '35' || id || '00', phone_number = '+49 ' || id;
update devices set model = 'MKGR3LL', product_name = 'Rare1,1', time_zone = 'Asia/Tokyo', iccid = '8949',
    is_supervised = false, user_approved_enrollment = false, fde_enabled = false, firewall_enabled = false,
    sip_enabled = false, passcode_present = false, passcode_compliant = false, is_activation_lock_enabled = true,
    is_multi_user = true, is_apple_silicon = false, authenticated_at = '2020-05-01', color = 'GOLD',
    profile_status = 'removed', os_version = '15.8.2', device_capacity = 2048,
    wifi_mac = '64:9a:6e', imei = '3557733', phone_number = '+1 555'
  where id = (select max(id) from devices);
insert into certificates (purpose, der, fingerprint, subject, issuer, serial, x509_cn, not_before, not_after,
    created_at)
  select 'mdm.device', '', sha256(n::text::bytea), 'CN=Device ' || n, 'CN=First CA', md5(n::text),
    'Device ' || n, now(), now() + interval '1 year', now() - n * interval '1 minute'
  from generate_series(1, ${DEVICES}) n;
insert into certificates (purpose, der, fingerprint, subject, issuer, serial, x509_cn, not_before, not_after,
    created_at, is_ca, is_own_ca, revoked_at, revocation_reason)
  values ('mdm.cacert', '', '${`\\x${'ab1'.padEnd(64, '0')}`}', 'CN=Rare', 'CN=Rare CA', 'rare', 'Rare', now(),
    '2020-05-01', '2020-05-01', true, true, now(), 'superseded');
insert into audit_events (actor, role, source_address, action, target_type, outcome)
  select 'admin', 'admin', '10.0.0.1', 'device.update', 'devices', 'success'
  from generate_series(1, ${DEVICES}) n;
insert into audit_events (actor, role, source_address, action, target_type, outcome)
  values ('system', 'system', '10.9.9.9', 'ca.create', 'certificates', 'failure');
insert into custom_attributes (device_id, name, value)
  select id, 'owner', case when id = max(id) over () then 'Rare person' else md5(id::text) end from devices;
insert into tags (name) values ('common'), ('rare');
insert into device_tags (device_id, tag_id)
  select d.id, t.id from devices d join tags t on t.name = 'common' or d.id % 500 = 0;
insert into commands (uuid, device_id, request_type, payload, status, queued_at, sent_at, acknowledged_at)
  select gen_random_uuid(), d.id, 'ProfileList', '', case
      when n <= 40 then 'Queued' when n <= 80 then 'Error' else 'Acknowledged' end,
    queued, case when n > 40 then queued end, case when n > 40 then queued end
  from (select min(id) as id from devices) d cross join generate_series(1, ${COMMANDS}) n
  -- Ids of transactions that overlap are not in the order of the times.
  cross join lateral (select now() - (${COMMANDS} - n + n * 7 % 5) * interval '1 minute' as queued) q;
select brin_summarize_new_values('commands_acknowledged_at'), brin_summarize_new_values('commands_sent_at');
insert into installed_applications (device_id, name)
  select (select min(id) from devices), 'Application ' || n from generate_series(1, ${DEVICES}) n;
update commands set is_forced = true where id = (select max(id) from commands);
insert into installed_certificates (device_id, x509_cn, subject)
  select (select min(id) from devices), 'Certificate ' || n, 'CN=' || md5(n::text) || ',O=Example' from generate_series(1, ${DEVICES}) n;
insert into installed_profiles (device_id, payload_identifier)
  select (select min(id) from devices), case when n = ${DEVICES} then 'com.Rare.wifi' else 'com.example.' || n % 20 end
  from generate_series(1, ${DEVICES}) n;
insert into time_order_checks (table_name, checked_to, latest, most_behind)
  select 'commands', max(id), max(queued_at), interval '5 minutes' from commands;
vacuum (analyze) installed_certificates, installed_profiles;
vacuum (analyze) devices, device_contacts, tags, device_tags, commands, ended_commands, certificates, audit_events,
  custom_attributes, installed_applications`;

let test: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  test = await createTestDatabase();
  client = new pg.Client({ connectionString: test.connectionString });
  await client.connect();
  // A vacuum runs in no transaction, which several statements sent together are.
  for (const statement of FILL.split(/;\n/)) await client.query(statement);
  await client.query(LIST_SESSION);
  // So small a table is read whole wherever it can't be read by an index.
  await client.query('set enable_seqscan = off; set enable_hashjoin = off');
});
afterAll(async () => {
  await client.end();
  await test.drop();
});

function definitionOf(type: string) {
  const definition = RESOURCES.find((one) => one.type === type);
  if (definition === undefined) throw new Error(`no resource ${type}`);
  return definition;
}

/** How many rows the page reads and returns, and how many its count reads. */
async function rowsRead(type: string, query: ListCase['query']) {
  const plans = await explainList(client, {
    kind: 'filter',
    definition: definitionOf(type),
    query,
  });
  const counts = plans.filter(({ isCount }) => isCount);
  const pages = plans.filter(({ isCount }) => !isCount);
  const sum = (of: typeof plans) => of.reduce((total, plan) => total + plan.rowsRead, 0);
  const returned = pages.reduce((total, plan) => total + plan.rowsReturned, 0);
  return { page: sum(pages), returned, count: sum(counts) };
}

/** The ids of a page, from the statements of the server. */
async function idsOf(type: string, query: ListCase['query']): Promise<number[]> {
  const shape = definitionOf(type);
  const run: StatementRunner['run'] = async ({ text, bindings }) =>
    (await client.query({ text: numbered(text), values: bindings })).rows;
  const parsed = parseCollectionQuery(new URLSearchParams(query), shape, READER);
  const list: ListQuery = { ...parsed, shape, columns: [], totalMode: 'none' };
  const { rows } = await listRows({ run, runSliced: run }, list);
  return rows.map(({ id }) => Number(id));
}

describe('a page of a list', () => {
  it.each(['Queued', 'Error', 'Expired', 'Error,Cancelled'])(
    'of commands with the status %s reads no other commands',
    async (status) => {
      for (const sort of ['id', '-id']) {
        const { page } = await rowsRead('commands', [
          ['filter[status]', status],
          ['sort', sort],
        ]);
        expect(page).toBeLessThanOrEqual(MAX_READ);
      }
    },
  );

  it('of devices with a rare tag reads no others', async () => {
    const { page } = await rowsRead('devices', [['filter[tags__name]', 'rare']]);
    expect(page).toBeLessThanOrEqual(MAX_READ);
  });

  it.each([
    '-device_name',
    'asset_tag',
    '-asset_tag',
    'os_version',
    '-enrolled_at',
    'last_seen',
    '-last_seen',
  ])('of all devices sorted by %s reads what it returns', async (sort) => {
    const { page } = await rowsRead('devices', [['sort', sort]]);
    expect(page).toBeLessThanOrEqual(MAX_READ);
  });
});

describe('a page of commands queued in a range of time', () => {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  it.each([
    ['the newest', { op: 'ge', val: ago(2_000.5) }, 'queued_at >= $1', [ago(2_000.5)]],
    [
      'those of the last days',
      { op: 'gt', val: 'PT34H' },
      `queued_at > now() - interval '34 hours'`,
      [],
    ],
    ['the oldest', { op: 'le', val: ago(18_000.5) }, 'queued_at <= $1', [ago(18_000.5)]],
    [
      'those of two weeks ago',
      { op: 'lt', val: 'PT300H' },
      `queued_at < now() - interval '300 hours'`,
      [],
    ],
    [
      'those between',
      { op: 'between', val: [ago(10_000.5), ago(8_000.5)] },
      'queued_at between $1 and $2',
      [ago(10_000.5), ago(8_000.5)],
    ],
  ])('%s reads few others, in both orders', async (_name, rule, where, values) => {
    const counted = `select count(*)::integer as total from commands where ${where}`;
    const { total } = (await client.query(counted, values)).rows[0];
    expect(total).toBeGreaterThan(1_000);
    for (const sort of ['id', '-id']) {
      const filter = JSON.stringify([{ name: 'queued_at', ...rule }]);
      const read = await rowsRead('commands', [
        ['filter', filter],
        ['sort', sort],
      ]);
      expect([sort, read.returned]).toEqual([sort, 30]);
      expect(read.page).toBeLessThanOrEqual(MAX_READ);
    }
  });
});

describe('a page of commands by when they were sent or answered', () => {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const [before, after] = [`${COMMANDS - 200}.5`, '120.5'].map((minutes) => ago(Number(minutes)));
  /** The planner does not see that the commands of one time lie together. */
  const OTHERS = 5_000;
  it.each([
    ['of the last hours', { op: 'ge', val: after }, 'acknowledged_at >= $1', [after]],
    ['of the first hours', { op: 'lt', val: before }, 'acknowledged_at < $1', [before]],
    ['younger', { op: 'gt', val: 'PT2H' }, `acknowledged_at > now() - interval '2 hours'`, []],
    [
      'between',
      { op: 'between', val: [ago(9_000.5), ago(8_900.5)] },
      'acknowledged_at between $1 and $2',
      [ago(9_000.5), ago(8_900.5)],
    ],
    ['most', { op: 'ge', val: before }, 'acknowledged_at >= $1', [before]],
  ])(
    '%s reads few others and has the right rows, in both orders',
    async (_name, rule, where, values) => {
      for (const sort of ['id', '-id']) {
        const order = `order by id ${sort === 'id' ? '' : 'desc'} limit 30`;
        const expected = await client.query(
          `select id::integer from commands where ${where} ${order}`,
          values,
        );
        expect(expected.rows.length).toBe(30);
        const query: ListCase['query'] = [
          ['filter', JSON.stringify([{ name: 'acknowledged_at', ...rule }])],
          ['sort', sort],
        ];
        const ids = await idsOf('commands', query);
        expect(ids).toEqual(expected.rows.map(({ id }) => id));
        const { page } = await rowsRead('commands', query);
        expect(page).toBeLessThanOrEqual(OTHERS);
      }
    },
  );

  it('goes on behind a cursor', async () => {
    const filter: ListCase['query'] = [
      ['filter', JSON.stringify([{ name: 'sent_at', op: 'ge', val: after }])],
    ];
    const all = await idsOf('commands', [...filter, ['page[size]', '60']]);
    expect(all.length).toBe(60);
    const [first = 0] = all;
    const next = await idsOf('commands', [...filter, ['page[size]', '30'], ['page[number]', '2']]);
    expect(next).toEqual(all.slice(30));
    expect(first).toBeLessThan(next[0] ?? 0);
  });
});

describe('a page of devices last seen', () => {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  it.each([
    ['before a time', { op: 'lt', val: ago(DEVICES - 19.5) }, 20],
    ['longer ago', { op: 'lt', val: 'PT83H' }, 21],
    ['after a time', { op: 'gt', val: ago(20.5) }, 20],
    ['between', { op: 'between', val: [ago(2_020.5), ago(2_000.5)] }, 20],
  ])('%s reads and counts few others, in each order', async (_name, rule, returned) => {
    for (const sort of ['last_seen', '-last_seen', 'id']) {
      const filter = JSON.stringify([{ name: 'last_seen', ...rule }]);
      const read = await rowsRead('devices', [
        ['filter', filter],
        ['sort', sort],
      ]);
      expect([sort, read.returned]).toEqual([sort, returned]);
      expect(read.page).toBeLessThanOrEqual(MAX_READ);
      expect(read.count).toBeLessThanOrEqual(MAX_READ);
    }
  });
});

const DIGITS = 'ab1'.padEnd(64, '0');

describe('a page of the one row with a rare value', () => {
  it.each([
    ['devices', 'enrollment_state', 'eq', 'unenrolled'],
    ['devices', 'enrollment_type', 'eq', 'user'],
    ['devices', 'enrollment_method', 'eq', 'account_user'],
    ['devices', 'push_state', 'eq', 'bad_token'],
    ['devices', 'is_mdm_lost_mode_enabled', 'eq', true],
    ['devices', 'awaiting_configuration', 'eq', true],
    ['devices', 'created_at', 'eq', '2026-05-01T00:00:00+00:00'],
    ['devices', 'created_at', 'le', '2026-05-01T00:00:00+00:00'],
    ['devices', 'unenrolled_at', 'le', '2026-05-01T00:00:00+00:00'],
    ['devices', 'udid', 'startswith', 'rare-u'],
    ['devices', 'udid', 'contains', 'udid-1'],
    ['devices', 'udid', 'like', 'RARE%1'],
    ['devices', 'serial_number', 'endswith', 'AL4999'],
    ['devices', 'device_name', 'contains', 'ice 4999'],
    ['devices', 'hostname', 'eq', 'rare.example.com'],
    ['devices', 'hostname', 'endswith', 're.example.com'],
    ['devices', 'model', 'eq', 'MKGR3LL'],
    ['devices', 'product_name', 'startswith', 'Rare'],
    ['devices', 'model', 'contains', 'KGR3'],
    ['devices', 'product_name', 'ilike', '%ARE1%'],
    ['devices', 'time_zone', 'eq', 'Asia/Tokyo'],
    ['devices', 'time_zone', 'endswith', '/Tokyo'],
    ['devices', 'wifi_mac', 'contains', '9a:6e'],
    ['devices', 'imei', 'endswith', '57733'],
    ['devices', 'phone_number', 'startswith', '+1 55'],
    ['devices', 'color', 'eq', 'GOLD'],
    ['devices', 'profile_status', 'startswith', 'remo'],
    ['devices', 'os_version', 'startswith', '15.8'],
    ['devices', 'device_capacity', 'ge', 2048],
    ['devices', 'iccid', 'startswith', '894'],
    ['devices', 'authenticated_at', 'le', '2020-05-01T00:00:00+00:00'],
    ['devices', 'is_supervised', 'eq', false],
    ['devices', 'user_approved_enrollment', 'eq', false],
    ['devices', 'fde_enabled', 'eq', false],
    ['devices', 'firewall_enabled', 'eq', false],
    ['devices', 'sip_enabled', 'eq', false],
    ['devices', 'passcode_present', 'eq', false],
    ['devices', 'passcode_compliant', 'eq', false],
    ['devices', 'is_activation_lock_enabled', 'eq', true],
    ['devices', 'is_multi_user', 'eq', true],
    ['devices', 'is_apple_silicon', 'eq', false],
    ['certificates', 'fingerprint_sha256', 'eq', DIGITS],
    ['certificates', 'fingerprint_sha256', 'in', [DIGITS.toUpperCase()]],
    ['certificates', 'fingerprint_sha256', 'startswith', 'AB10000'],
    ['certificates', 'x509_cn', 'eq', 'Rare'],
    ['certificates', 'x509_cn', 'startswith', 'Rar'],
    ['certificates', 'issuer', 'eq', 'CN=Rare CA'],
    ['certificates', 'is_ca', 'eq', true],
    ['certificates', 'is_own_ca', 'eq', true],
    ['certificates', 'created_at', 'le', '2020-05-01T00:00:00+00:00'],
    ['certificates', 'not_after', 'le', '2020-05-01T00:00:00+00:00'],
    ['certificates', 'revocation_reason', 'eq', 'superseded'],
    ['commands', 'is_forced', 'eq', true],
    ['certificates', 'issuer', 'contains', 'Rare'],
    ['audit_events', 'role', 'eq', 'system'],
    ['audit_events', 'actor', 'contains', 'yste'],
    ['audit_events', 'action', 'endswith', '.create'],
    ['audit_events', 'source_address', 'eq', '10.9.9.9'],
    ['audit_events', 'source_address', 'contains', '9.9.9'],
    ['installed_profiles', 'payload_identifier', 'contains', 'rare.WI'],
    ['installed_certificates', 'x509_cn', 'contains', 'cate 4999'],
    ['installed_certificates', 'subject', 'contains', 'b712de4813'],
    ['installed_certificates', 'subject', 'eq', 'CN=3b712de48137572f3849aabd5666a4e3,O=Example'],
    ['audit_events', 'target_type', 'eq', 'certificates'],
    ['audit_events', 'outcome', 'eq', 'failure'],
    ['custom_attributes', 'value', 'eq', 'Rare person'],
    ['custom_attributes', 'value', 'startswith', 'Rare p'],
    ['custom_attributes', 'value', 'contains', 'e pers'],
  ])('of %s by %s %s %s reads few others', async (type, name, op, val) => {
    const { page, returned } = await rowsRead(type, [
      ['filter', JSON.stringify([{ name, op, val }])],
    ]);
    // The id is found first, then its row.
    expect(returned).toBe(1);
    expect(page).toBeLessThanOrEqual(LIMITS.readPerReturned);
  });

  it.each(['contains', 'ilike', 'startswith'])(
    'has the rows of all values that match: %s',
    async (op) => {
      const pattern = op === 'startswith' ? 'COM.example.1%' : '%EXAMPLE.1%';
      const val = op === 'ilike' ? pattern : pattern.replaceAll('%', '');
      for (const direction of ['', 'desc']) {
        const { rows } = await client.query(
          `select id::integer from installed_profiles where payload_identifier ilike $1
          order by id ${direction} limit 30 offset 30`,
          [pattern],
        );
        expect(rows.length).toBe(30);
        const filter = JSON.stringify([{ name: 'payload_identifier', op, val }]);
        const ids = await idsOf('installed_profiles', [
          ['filter', filter],
          ['sort', direction === '' ? 'id' : '-id'],
          ['page[size]', '30'],
          ['page[number]', '2'],
        ]);
        expect(ids).toEqual(rows.map(({ id }) => id));
      }
    },
  );

  it('reads few others where one of two texts may match', async () => {
    const rule = (name: string) => ({ name, op: 'contains', val: 'e.example' });
    const filter = (one: unknown): ListCase['query'] => [['filter', JSON.stringify(one)]];
    const either = await rowsRead('devices', filter({ or: ['device_name', 'hostname'].map(rule) }));
    expect(either).toMatchObject({ returned: 1 });
    expect(either.page).toBeLessThanOrEqual(LIMITS.readPerReturned);
  });

  it('reads no row for a text that cannot be a fingerprint', async () => {
    for (const [op, val] of [
      ['eq', 'no digits'],
      ['eq', 'ab1'],
      ['startswith', 'xyz'],
    ]) {
      const filter = JSON.stringify([{ name: 'fingerprint_sha256', op, val }]);
      const { page, returned } = await rowsRead('certificates', [['filter', filter]]);
      expect({ page, returned }).toEqual({ page: 0, returned: 0 });
    }
  });
});

describe('a page of the one row of which a flag is known', () => {
  it.each([true, false])('reads few other devices: %s', async (value) => {
    const type = 'devices';
    const flags = definitionOf(type).flagIndex?.[`${value}`] ?? [];
    expect(flags).not.toEqual([]);
    const columns = flags.map((name) => `"${name}" = ${value}`);
    const last = `id = (select max(id) from "${type}")`;
    await client.query(`update "${type}" set ${columns.join(', ')} where ${last}`);
    await client.query(`vacuum (analyze) "${type}"`);
    const { rows } = await client.query<{ definition: string }>(
      'select pg_get_indexdef($1::regclass) as definition',
      [`${type}_flags`],
    );
    const expression = `array_positions(ARRAY[${flags.join(', ')}], ${value})`;
    expect(rows[0]?.definition).toContain(expression);
    // Of the other rows the flags are unknown, but where FILL or a default sets them.
    const { rows: unset } = await client.query<{ name: string }>(
      `select attname as name from pg_attribute
        where attrelid = $1::regclass and attname = any($2) and not atthasdef order by attnum`,
      [type, flags.filter((name) => !FILL.includes(name))],
    );
    for (const name of [unset[0]?.name, unset.at(-1)?.name]) {
      const read = await rowsRead(type, [[`filter[${name}]`, String(value)]]);
      expect({ name, returned: read.returned }).toEqual({ name, returned: 1 });
      expect(read.page).toBeLessThanOrEqual(LIMITS.readPerReturned);
    }
  });

  it('reads few other applications, whichever it is', async () => {
    const type = 'installed_applications';
    const { attributes } = definitionOf(type);
    const flags = booleansOf(attributes)
      .filter((name) => name !== 'appstore_vendable')
      .map((name) => [name, name !== 'is_validated'] as const);
    const columns = flags.map(([name, value]) => `"${name}" = ${value}`);
    await client.query(
      `update "${type}" set ${columns.join(', ')} where id = (select max(id) from "${type}")`,
    );
    for (const [name, value] of flags) {
      const read = await rowsRead(type, [[`filter[${name}]`, String(value)]]);
      expect({ name, ...read }).toEqual({ name, page: 2, returned: 1, count: 0 });
    }
  });
});

describe('a page of the one row that has a value of', () => {
  // No index row may have as many bytes, and these can't be compressed.
  const long = randomBytes(5_000).toString('hex');
  it.each([
    ['devices', 'firewall_logging_option', 'detail'],
    ['devices', 'osu_catalog_url', long],
    ['devices', 'description', long],
    ['devices', 'profile_uuid', 'ABCdef'],
    ['devices', 'supplemental_os_version_extra', '(a)'],
    ['devices', 'quota_size', 5_000_000_000],
    ['devices', 'access_rights', 8_190],
    ['installed_certificates', 'serial', '4A:01'],
    ['installed_certificates', 'fingerprint_sha256', 'AB'.repeat(32)],
    ['installed_certificates', 'is_identity', true],
    ['installed_profiles', 'payload_organization', 'Org'],
    ['installed_profiles', 'payload_uuid', 'P-1'],
    ['installed_profiles', 'is_encrypted', true],
  ])('%s %s reads few others', async (type, name, value) => {
    await client.query(
      `update "${type}" set "${name}" = $1 where id = (select max(id) from "${type}")`,
      [value],
    );
    const read = await rowsRead(type, [[`filter[${name}]`, String(value)]]);
    expect(read.returned).toBe(1);
    expect(read.page).toBeLessThanOrEqual(LIMITS.readPerReturned);
  });

  it.each(['devices', 'installed_certificates', 'installed_profiles'])(
    'each attribute of %s that the index names',
    async (type) => {
      const columns = columnsOf(definitionOf(type).valueIndex ?? [], definitionOf(type).attributes);
      const { rows } = await client.query<{ definition: string }>(
        'select pg_get_indexdef($1::regclass) as definition',
        [`${type}_values`],
      );
      const entries = columns.map(({ name, kind, ignoreCase }, index) => {
        const text = ignoreCase ? `lower(${name})` : name;
        const value = kind === 'text' ? `"left"(${text}, 64)` : `(${name})::text`;
        return `('${index + 1}:'::text || ${value})`;
      });
      expect(rows[0]?.definition).toContain(`(ARRAY[${entries.join(', ')}])`);
    },
  );
});

/** While statistics know of no command that waits: every index of those that do looks empty then. */
const NONE_WAITS = `
update commands set status = 'Acknowledged' where is_pending;
analyze commands`;
const OF_ONE_DEVICE = `
explain select id from commands where device_id = 1 and is_pending order by priority, id desc limit 1`;

it('the commands that wait for one device are not found among those of all devices', async () => {
  await client.query(`begin; ${NONE_WAITS}`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(OF_ONE_DEVICE);
  await client.query('rollback');
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/ using commands_(pending|device) /);
});
