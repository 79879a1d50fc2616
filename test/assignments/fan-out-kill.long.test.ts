import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MASTER_KEY, startApp, type TestApp } from '../helpers/app.js';
import { killChildren, startTypeScript } from '../helpers/child-process.js';
import { addProfile, reconcilerOf } from './assignment-fixture.js';

const CHILD = join(__dirname, 'reconciler-child.ts');
/** Three slices. */
const DEVICES = 2_500;
/** The child reaches this one in its third slice. */
const BLOCKED = 2_200;
const WAIT_MS = 30_000;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterEach(killChildren);
afterAll(() => app.stop());

/** Devices that were looked at before. */
async function enrolledDevices(): Promise<number[]> {
  const { rows } = await app.db.knex.raw<{ rows: { id: number }[] }>(
    `insert into devices (udid, enrollment_state, is_enrolled)
     select gen_random_uuid()::text, 'enrolled', true from generate_series(1, ?::integer)
     returning id`,
    [DEVICES],
  );
  await app.db.knex.raw(
    'insert into device_reconciliations (device_id) select id from devices on conflict do nothing',
  );
  return rows.map(({ id }) => id).toSorted((a, b) => a - b);
}

/** How many sessions of the child there are, waiting for a lock or at all. */
async function sessions(condition: string): Promise<number> {
  const { rows } = await app.db.knex.raw<{ rows: { count: number }[] }>(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and application_name = 'reconciler-child' and ${condition}`,
  );
  return rows[0]?.count ?? 0;
}

async function until(isDone: () => Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + WAIT_MS;
  while (!(await isDone())) {
    if (Date.now() > end) throw new Error(`after ${WAIT_MS} ms not yet: ${what}`);
    await sleep(20);
  }
}

const devicesWithItem = async () =>
  (await app.db.knex('device_items').distinct('device_id')).length;

async function marks(): Promise<unknown[]> {
  const { knex } = app.db;
  return [...(await knex('reconcile_marks')), ...(await knex('reconcile_item_marks'))];
}

describe('kill -9 of a process in the middle of a fan-out', () => {
  it('leaves it to another process: each device gets the profile once, and no mark is left', async () => {
    const { knex } = app.db;
    const devices = await enrolledDevices();
    await reconcilerOf(app).run();
    const { id } = await addProfile(app);
    await knex('assignments').insert({ profile_id: id, all_devices: true });

    const lock = await knex.transaction();
    await lock('devices').where({ id: devices[BLOCKED] }).forUpdate();
    const args = [app.database.connectionString, MASTER_KEY.toString('hex')];
    const child = startTypeScript(CHILD, args);
    try {
      const isBlocked = async () => (await sessions("wait_event_type = 'Lock'")) > 0;
      await until(isBlocked, 'the child waits in its third slice');
      child.process.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      expect(await devicesWithItem()).toBe(2_000);
      expect(await marks()).toHaveLength(1);
    } finally {
      await lock.rollback();
    }
    await until(async () => (await sessions('true')) === 0, 'the session of the child ends');
    await reconcilerOf(app).run();

    expect(await marks()).toEqual([]);
    const installs = await knex('commands')
      .where({ request_type: 'InstallProfile', is_pending: true })
      .orderBy('device_id')
      .select('device_id');
    expect(installs.map(({ device_id }) => device_id)).toEqual(devices);
    expect(await knex('commands').whereNot({ request_type: 'InstallProfile' })).toEqual([]);
    const items = await knex('device_items as i')
      .join('commands as c', 'c.device_item_id', 'i.id')
      .whereRaw('i.command_id = c.id')
      .orderBy('i.device_id')
      .select('i.device_id', 'i.state');
    expect(items).toEqual(devices.map((device_id) => ({ device_id, state: 'pending' })));
  }, 60_000);
});
