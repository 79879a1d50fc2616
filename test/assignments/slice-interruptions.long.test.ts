import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { connectDatabase, type Database } from '../../src/db/connection/database.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { addProfile, reconcilerOf } from './assignment-fixture.js';

const DEVICES = 3;

let app: TestApp;
/** Of the worker that is stopped. */
let db: Database;
let stop: Stop | undefined;
let statements = 0;

/** Before which statement of the worker something happens, counted from 0. */
interface Stop {
  at: number;
  /** Resolves when the statement may run. */
  happens(connection: pg.ClientBase & { processID?: number }): Promise<void>;
}

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  db = connectDatabase({ connectionString: app.database.connectionString, poolSize: 2 });
  stopEachStatement(db);
});
afterAll(async () => {
  await db.close();
  await app.stop();
});

type RawConnections = { acquireRawConnection(): Promise<pg.ClientBase> };

function stopEachStatement({ knex }: Database): void {
  const client = knex.client as RawConnections;
  const acquire = client.acquireRawConnection.bind(client);
  client.acquireRawConnection = async () => {
    const connection = await acquire();
    const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
    const stopped = (...args: unknown[]) => {
      const number = statements;
      statements += 1;
      if (stop?.at !== number) return query(...args);
      return stop.happens(connection).then(() => query(...args));
    };
    return Object.assign(connection, { query: stopped });
  };
}

interface Fixture {
  devices: number[];
  tag: number;
  profile: { id: number; identifier: string };
}

/** Devices with a tag to which a profile has just been assigned. */
async function fixture(): Promise<Fixture> {
  const { knex } = app.db;
  for (const table of ['devices', 'profiles', 'tags']) await knex(table).delete();
  await reconcilerOf(app).run();
  const { rows } = await knex.raw<{ rows: { id: number }[] }>(
    `insert into devices (udid, enrollment_state, is_enrolled)
     select gen_random_uuid()::text, 'enrolled', true from generate_series(1, ?::integer)
     returning id`,
    [DEVICES],
  );
  const devices = rows.map(({ id }) => id);
  const [{ id: tag }] = await knex('tags').insert({ name: 'of all' }, 'id');
  await knex('device_tags').insert(devices.map((device_id) => ({ device_id, tag_id: tag })));
  const profile = await addProfile(app);
  await knex('assignments').insert({ profile_id: profile.id, tag_id: tag });
  statements = 0;
  return { devices, tag, profile };
}

/** Each device, what it is to get and what waits for it, once nothing is left to be looked at. */
async function atRest({ devices }: Fixture) {
  const { knex } = app.db;
  expect(await knex('reconcile_marks')).toEqual([]);
  expect(await knex('reconcile_item_marks')).toEqual([]);
  const items = await knex('device_items as i')
    .leftJoin('commands as c', 'c.id', 'i.command_id')
    .select('i.device_id', 'i.version', 'i.state', 'c.is_pending', 'c.id as command_id');
  const waiting = await knex('commands').where({ is_pending: true }).select('id', 'device_id');
  return devices.map((id) => ({
    items: items
      .filter(({ device_id }) => device_id === id)
      .map(({ version, state, is_pending }) => [version, state, is_pending]),
    waiting: waiting.filter(({ device_id }) => device_id === id).length,
    isItsOwn: waiting
      .filter(({ device_id }) => device_id === id)
      .every((command) => items.some((item) => item.command_id === command.id)),
  }));
}

const wants = (version: number) => ({
  items: [[version, 'pending', true]],
  waiting: 1,
  isItsOwn: true,
});
const NOTHING = { items: [], waiting: 0, isItsOwn: true };

/** How many statements a worker sends until nothing is left. */
async function count(): Promise<number> {
  stop = undefined;
  const made = await fixture();
  await reconcilerOf({ ...app, db }).run();
  expect(await atRest(made)).toEqual(Array(DEVICES).fill(wants(1)));
  expect(statements).toBeGreaterThan(10);
  return statements;
}

const CHANGES: [string, (fixture: Fixture) => Promise<unknown>, object[]][] = [
  [
    'a device loses the tag',
    ({ devices: [device_id] }) => app.db.knex('device_tags').where({ device_id }).delete(),
    [NOTHING, wants(1), wants(1)],
  ],
  [
    'another device gets the tag',
    async ({ devices, tag: tag_id }) => {
      const { knex } = app.db;
      const { rows } = await knex.raw<{ rows: { id: number }[] }>(
        `insert into devices (udid, enrollment_state, is_enrolled)
         values (gen_random_uuid()::text, 'enrolled', true) returning id`,
      );
      for (const { id: device_id } of rows) {
        devices.push(device_id);
        await knex('device_tags').insert({ device_id, tag_id });
      }
    },
    [wants(1), wants(1), wants(1), wants(1)],
  ],
  [
    'a device loses the tag and gets it again',
    async ({ devices: [device_id], tag: tag_id }) => {
      await app.db.knex('device_tags').where({ device_id }).delete();
      await app.db.knex('device_tags').insert({ device_id, tag_id });
    },
    [wants(1), wants(1), wants(1)],
  ],
  [
    'a new version comes',
    ({ profile: { identifier } }) =>
      addProfile(app, { PayloadIdentifier: identifier }, 'Elsewhere'),
    [wants(2), wants(2), wants(2)],
  ],
  ['the assignment ends', () => app.db.knex('assignments').delete(), [NOTHING, NOTHING, NOTHING]],
];

describe('a worker that is stopped before any of its statements', () => {
  it.each(CHANGES)(
    'skips nothing when meanwhile %s and another worker runs',
    async (_what, change, expected) => {
      const most = await count();
      for (let at = 0; at < most; at += 1) {
        const made = await fixture();
        let others: Promise<unknown> = Promise.resolve();
        stop = {
          at,
          async happens() {
            others = change(made).then(() => reconcilerOf(app).run());
            // What the worker has locked is waited for: it goes on then.
            await Promise.race([others, sleep(40)]);
          },
        };
        await reconcilerOf({ ...app, db }).run();
        await others;
        stop = undefined;
        await reconcilerOf(app).run();
        expect([at, await atRest(made)]).toEqual([at, expected]);
      }
    },
    60_000,
  );

  it('loses nothing when its process dies there', async () => {
    const most = await count();
    for (let at = 0; at < most; at += 1) {
      const made = await fixture();
      stop = {
        at,
        async happens({ processID }) {
          await app.db.pool.query('select pg_terminate_backend($1)', [processID]);
          await sleep(5);
        },
      };
      await expect(reconcilerOf({ ...app, db }).run()).rejects.toThrow();
      stop = undefined;
      await reconcilerOf(app).run();
      expect([at, await atRest(made)]).toEqual([at, Array(DEVICES).fill(wants(1))]);
    }
  }, 60_000);
});
