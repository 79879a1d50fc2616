import type { Knex } from 'knex';
import { createRemoveOldAuditEventsTask } from '../../../src/jobs/tasks/remove-old-audit-events.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from './run-task.js';

const DAY_MS = 86_400_000;
const { logger, lines } = capturingLogger();
let test: TestDatabase;
let knex: Knex;

beforeEach(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
  lines.length = 0;
});
afterEach(() => test.drop());

const remove = (days: number) =>
  runTask(createRemoveOldAuditEventsTask({ db: test.db, logger, age: days * DAY_MS }));
/** As if the removal had been announced so long ago. */
const announcedAgo = (hours: number, days: number) =>
  knex('audit_retention').update({
    announced_age: days * DAY_MS,
    announced_at: knex.raw("now() - ?::double precision * interval '1 hour'", [hours]),
  });

/** Events of noon, so many days ago. */
async function written(...daysAgo: number[]): Promise<void> {
  await knex('audit_events').insert(
    daysAgo.map((days) => ({
      actor: 'ada',
      role: 'admin',
      action: `${days} days ago`,
      target_type: 'tags',
      at: knex.raw("date_trunc('day', now(), 'UTC') + interval '12 hours' - ? * interval '1 day'", [
        days,
      ]),
    })),
  );
}

const actions = () => knex('audit_events').orderBy('id').pluck('action');

/** As an injected statement would; the table has no other way to lose rows. */
const deleteAll = (where = 'true', setting = '') =>
  knex.transaction(async (trx) => {
    if (setting !== '') {
      await trx.raw(`select set_config('muster.audit_removal_before', ?, true)`, [setting]);
    }
    await trx.raw(`delete from audit_events where ${where}`);
  });

describe('the audit trail', () => {
  it('refuses every change, and every delete but that of its own function', async () => {
    await written(1, 400);
    const message = /audit_events is append-only/;
    await expect(deleteAll()).rejects.toThrow(message);
    await expect(deleteAll("at < now() - interval '399 days'")).rejects.toThrow(message);
    await expect(knex('audit_events').update({ actor: 'eve' })).rejects.toThrow(message);
    expect(await actions()).toEqual(['1 days ago', '400 days ago']);
  });

  it('loses none of its last 30 days, whatever a statement sets', async () => {
    await written(29, 20, 0);
    await expect(deleteAll('true', 'infinity')).rejects.toThrow(/append-only/);
    const call = "select remove_old_audit_events('infinity', 10)";
    await expect(knex.raw(call)).rejects.toThrow(/append-only/);
    expect(await actions()).toEqual(['29 days ago', '20 days ago', '0 days ago']);
  });

  it('rejects deletes again after a removal in the same transaction', async () => {
    await written(500, 400, 40);
    const both = knex.transaction(async (trx) => {
      const call = "select remove_old_audit_events(now() - interval '450 days', 10) as removed";
      expect((await trx.raw(call)).rows).toEqual([{ removed: 1 }]);
      await trx.raw("delete from audit_events where action = '400 days ago'");
    });
    await expect(both).rejects.toThrow(/append-only/);
    expect(await actions()).toEqual(['500 days ago', '400 days ago', '40 days ago']);
  });
});

describe('the removal of old audit events', () => {
  it('removes those older than AUDIT_RETENTION, and appends one event a day that says so', async () => {
    await written(401, 700, 399, 2);
    await announcedAgo(25, 400);
    await remove(400);
    await remove(400);
    expect(await actions()).toEqual(['399 days ago', '2 days ago', 'audit_events.remove']);
    const event = await knex('audit_events').where({ action: 'audit_events.remove' }).first();
    const day = new Date(Date.now() - 400 * DAY_MS).toISOString().slice(0, 10);
    expect(event).toMatchObject({
      ...{ actor: 'system', role: 'system', target_type: 'audit_events', target_id: null },
      ...{ outcome: 'success', details: { before: `${day}T00:00:00Z`, removed: 2 } },
    });
    expect(lines.map(({ msg, removed }) => [msg, removed])).toEqual([
      ['old audit events were removed', 2],
    ]);
  });

  it('announces how many it concerns, and removes none for a day', async () => {
    await written(401, 500, 1);
    await remove(400);
    await remove(400);
    expect(await actions()).toHaveLength(3);
    const [line, ...others] = lines;
    expect(others).toEqual([]);
    expect(line).toMatchObject({ level: 40, count: 2 });
    expect(line?.msg).toMatch(
      /^2 audit events were written more than 400 days ago \(AUDIT_RETENTION\) and are removed from \S+Z on; set AUDIT_RETENTION=off to keep them$/,
    );
    await announcedAgo(23.9, 400);
    await remove(400);
    expect(await actions()).toHaveLength(3);
    await announcedAgo(24.1, 400);
    await remove(400);
    expect(await actions()).toEqual(['1 days ago', 'audit_events.remove']);
  });

  it('announces a shortened AUDIT_RETENTION again', async () => {
    await written(100);
    await announcedAgo(1000, 400);
    await remove(90);
    expect(await actions()).toEqual(['100 days ago']);
    expect(lines.map(({ count }) => count)).toEqual([1]);
  });

  it('removes all of them in slices, with one event', async () => {
    await knex.raw(
      `insert into audit_events (actor, role, action, target_type, at)
       select 'ada', 'admin', 'old', 'tags', now() - interval '500 days' from generate_series(1, 2500)`,
    );
    await announcedAgo(25, 400);
    await remove(400);
    expect(await knex('audit_events').select('action', 'details')).toEqual([
      { action: 'audit_events.remove', details: expect.objectContaining({ removed: 2500 }) },
    ]);
  });

  it('finds old events by an index', async () => {
    await knex.raw(
      `insert into audit_events (actor, role, action, target_type, at)
       select 'ada', 'admin', 'young', 'tags', now() - n * interval '1 second'
       from generate_series(1, 20000) n`,
    );
    await knex.raw('analyze audit_events');
    const { rows } = await knex.raw(
      `explain select id from audit_events
       where at < date_trunc('day', now() - 34560000000 * interval '1 ms', 'UTC') order by at, id limit 1000`,
    );
    expect(JSON.stringify(rows)).toContain('audit_events_at');
  });
});
