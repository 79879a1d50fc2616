import pg from 'pg';
import { type ListCase, RESOURCES } from '../../../bench/scale/list-cases.js';
import { explainList, LIST_SESSION } from '../../../bench/scale/plans.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

const COMMANDS = 20_000;
const DEVICES = 5_000;
/** Of a page of 30; whole tables have thousands. */
const MOST_READ = 200;

// Those that wait or failed are the oldest: a list that reads the newest first meets them last.
const FILL = `
insert into devices (serial_number, device_name, asset_tag, os_version, enrolled_at)
  select 'SERIAL' || n, 'Device ' || n, 'A-' || n, '17.' || n, now() - n * interval '1 minute'
  from generate_series(1, ${DEVICES}) n;
insert into tags (name) values ('common'), ('rare');
insert into device_tags (device_id, tag_id)
  select d.id, t.id from devices d join tags t on t.name = 'common' or d.id % 500 = 0;
insert into commands (uuid, device_id, request_type, payload, status)
  select gen_random_uuid(), d.id, 'ProfileList', '', case
    when n <= 40 then 'Queued' when n <= 80 then 'Error' else 'Acknowledged' end
  from (select min(id) as id from devices) d cross join generate_series(1, ${COMMANDS}) n;
analyze devices, tags, device_tags, commands, ended_commands`;

let test: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  test = await createTestDatabase();
  client = new pg.Client({ connectionString: test.connectionString });
  await client.connect();
  await client.query(FILL);
  await client.query(LIST_SESSION);
  // So small a table is read whole wherever it can't be read by an index.
  await client.query('set enable_seqscan = off; set enable_hashjoin = off');
});
afterAll(async () => {
  await client.end();
  await test.drop();
});

/** How many rows the page reads, and how many its count. */
async function rowsRead(type: string, query: ListCase['query']) {
  const definition = RESOURCES.find((one) => one.type === type);
  if (definition === undefined) throw new Error(`no resource ${type}`);
  const plans = await explainList(client, { kind: 'filter', definition, query });
  const sum = (isCount: boolean) =>
    plans
      .filter((plan) => plan.isCount === isCount)
      .reduce((total, plan) => total + plan.rowsRead, 0);
  return { page: sum(false), count: sum(true) };
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
        expect(page).toBeLessThanOrEqual(MOST_READ);
      }
    },
  );

  it('of devices with a rare tag reads no others', async () => {
    const { page } = await rowsRead('devices', [['filter[tags__name]', 'rare']]);
    expect(page).toBeLessThanOrEqual(MOST_READ);
  });

  it.each(['-device_name', 'asset_tag', '-asset_tag', 'os_version', '-enrolled_at'])(
    'of all devices sorted by %s reads what it returns',
    async (sort) => {
      const { page } = await rowsRead('devices', [['sort', sort]]);
      expect(page).toBeLessThanOrEqual(MOST_READ);
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
