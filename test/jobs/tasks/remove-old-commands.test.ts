import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { keepNotice } from '../../../src/db/devices/removal-notices.js';
import { createRemoveOldCommandsTask } from '../../../src/jobs/tasks/remove-old-commands.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const DAY_MS = 86_400_000;
const { logger, lines } = capturingLogger();
let test: TestDatabase;
let knex: Knex;
let device_id: number;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
});
afterAll(() => test.drop());
beforeEach(async () => {
  await knex('device_secrets').delete();
  await knex('devices').delete();
  [{ id: device_id }] = await knex('devices').insert({}, 'id');
  await knex('command_retention').update({ announced_age: null, announced_at: null });
  lines.length = 0;
});

const daysAgo = (days: number) =>
  knex.raw("now() - ?::double precision * interval '1 day'", [days]);
const remove = (days = 90) =>
  runTask(createRemoveOldCommandsTask({ db: test.db, logger, age: days * DAY_MS }));
/** As if the removal had been announced so long ago. */
const announcedAgo = (hours: number, days = 90) =>
  knex('command_retention').update({
    announced_age: days * DAY_MS,
    announced_at: knex.raw("now() - ?::double precision * interval '1 hour'", [hours]),
  });
const left = () => knex('commands').orderBy('id').pluck('request_type');

/** A command that was acknowledged `days` ago, a minute after it was queued. */
async function finished(name: string, days: number, columns: object = {}): Promise<number> {
  const times = { queued_at: daysAgo(days + 1 / 1440), acknowledged_at: daysAgo(days) };
  const row = { uuid: randomUUID(), device_id, payload: Buffer.of(1), status: 'Acknowledged' };
  const [{ id }] = await knex('commands').insert(
    { ...row, request_type: name, ...times, ...columns },
    'id',
  );
  return id;
}

describe('the removal of old commands', () => {
  it('removes the commands that ended longer ago than COMMAND_RETENTION, and no others', async () => {
    await finished('old', 91);
    await finished('failed', 200, { status: 'Error' });
    await finished('cancelled', 120, {
      status: 'Cancelled',
      acknowledged_at: null,
      ended_at: daysAgo(100),
    });
    await finished('young', 89);
    await finished('queued long ago, ended lately', 5, { queued_at: daysAgo(300) });
    await finished('cancelled lately', 300, {
      status: 'Cancelled',
      acknowledged_at: null,
      ended_at: daysAgo(3),
    });
    await finished('answered NotNow long ago, cancelled lately', 200, {
      status: 'Cancelled',
      ended_at: daysAgo(3),
    });
    await finished('waiting', 300, { status: 'NotNow', acknowledged_at: null });
    await finished('not handled yet', 300, { needs_handling: true });
    await announcedAgo(25);
    await remove();
    expect(await left()).toEqual([
      'young',
      'queued long ago, ended lately',
      'cancelled lately',
      'answered NotNow long ago, cancelled lately',
      'waiting',
      'not handled yet',
    ]);
    expect(lines.map(({ msg, commands }) => [msg, commands])).toEqual([
      ['old commands were removed', 3],
    ]);
  });

  it('announces how many it concerns, and removes none for a day', async () => {
    await finished('old', 91);
    await finished('young', 1);
    await remove();
    await remove();
    expect(await left()).toEqual(['old', 'young']);
    const [line, ...others] = lines;
    expect(others).toEqual([]);
    expect(line).toMatchObject({ level: 40, count: 1 });
    expect(line?.msg).toMatch(
      /^1 commands ended more than 90 days ago \(COMMAND_RETENTION\) and are removed from \S+Z on; set COMMAND_RETENTION=off to keep them$/,
    );
    await announcedAgo(23.9);
    await remove();
    expect(await left()).toEqual(['old', 'young']);
    await announcedAgo(24.1);
    await remove();
    expect(await left()).toEqual(['young']);
  });

  it('announces a shortened COMMAND_RETENTION again, and not a longer one', async () => {
    await finished('of 40 days', 40);
    await announcedAgo(1000, 90);
    await remove(30);
    expect(await left()).toEqual(['of 40 days']);
    expect(lines.map(({ count }) => count)).toEqual([1]);
    await announcedAgo(1000, 30);
    await remove(35);
    expect(await left()).toEqual([]);
  });

  it('announces a shortened COMMAND_RETENTION again after it was longer, or off', async () => {
    for (const meanwhile of [90 * DAY_MS, undefined]) {
      await knex('commands').delete();
      await finished('of 40 days', 40);
      await announcedAgo(1000, 30);
      await keepNotice(knex, 'command_retention', meanwhile);
      await remove(30);
      expect(await left()).toEqual(['of 40 days']);
    }
    expect(lines.map(({ count }) => count)).toEqual([1, 1]);
    await announcedAgo(25, 30);
    await keepNotice(knex, 'command_retention', 30 * DAY_MS);
    await remove(30);
    expect(await left()).toEqual([]);
  });

  it('keeps commands that a secret, an item, a setup or a renewal refers to', async () => {
    const [secret, item, renewal] = await Promise.all(
      ['of a secret', 'of an item', 'of a renewal'].map((name) => finished(name, 100)),
    );
    await finished('of nothing', 100);
    await knex('device_secrets').insert({
      device_id,
      kind: 'recovery_lock_password',
      sealed: Buffer.of(1),
      enrollment_number: 1,
      command_id: secret,
    });
    const [{ id: profile_id }] = await knex('profiles').insert(
      { identifier: 'a.b', uuid: 'U', version: 1, holds_secrets: false, is_signed: false },
      'id',
    );
    await knex('device_items').insert({
      device_id,
      profile_id,
      command_id: item,
      state: 'verified',
      enrollment_number: 1,
      identifier: 'a.b',
      item_key: 'a.b',
    });
    await knex('identity_renewals').insert({
      device_id,
      command_id: renewal,
      fingerprint: Buffer.alloc(32),
      next_attempt_at: knex.fn.now(),
    });
    await announcedAgo(25);
    await remove();
    expect((await left()).sort()).toEqual(['of a renewal', 'of a secret', 'of an item']);
  });

  it('continues after a slice in which all commands are kept', async () => {
    await knex.raw(
      `insert into commands (uuid, device_id, request_type, payload, status, queued_at)
       select gen_random_uuid(), ?, case when n <= 1200 then 'waiting' else 'old' end, '',
         case when n <= 1200 then 'Queued' else 'Acknowledged' end,
         now() - interval '200 days'
       from generate_series(1, 2400) n`,
      [device_id],
    );
    await announcedAgo(25);
    await remove();
    expect(await knex('commands').select('request_type').count('* as n').groupBy(1)).toEqual([
      { request_type: 'waiting', n: 1200 },
    ]);
  });

  it('removes reports that matched no command', async () => {
    const report = { device_id, command_uuid: 'X', sealed_report: Buffer.of(1) };
    await knex('unknown_reports').insert([
      { ...report, status: 'Error', received_at: daysAgo(91) },
      { ...report, status: 'Acknowledged', received_at: daysAgo(89) },
    ]);
    await announcedAgo(25);
    await remove();
    expect(await knex('unknown_reports').pluck('status')).toEqual(['Acknowledged']);
  });
});
