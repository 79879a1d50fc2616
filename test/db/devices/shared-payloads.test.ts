import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { insertCommands, type NewCommand } from '../../../src/db/devices/command-repository.js';
import {
  removeUnusedPayloads,
  type SharedPayload,
} from '../../../src/db/devices/shared-payloads.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
let knex: Knex;
let deviceId: number;

beforeAll(async () => {
  test = await createTestDatabase();
  knex = test.db.knex;
  [{ id: deviceId }] = await knex('devices').insert({ model: 'a' }).returning('id');
});
afterAll(() => test.drop());
beforeEach(async () => {
  await knex('commands').delete();
  await knex('command_payloads').delete();
});

function payload(text: string): SharedPayload {
  const body = Buffer.from(text);
  return { body, sha256: createHash('sha256').update(body).digest() };
}

function command(shared: SharedPayload): NewCommand {
  const uuid = crypto.randomUUID();
  const request_type = 'InstallProfile';
  return { uuid, device_id: deviceId, request_type, payload: null, shared };
}

const insert = (trx: Knex.Transaction, ...texts: string[]) =>
  insertCommands(
    trx,
    texts.map((text) => command(payload(text))),
  );

async function age(): Promise<void> {
  await knex('command_payloads').update({ created_at: knex.raw("now() - interval '25 hours'") });
}

async function bodies(): Promise<string[]> {
  const rows: Buffer[] = await knex('command_payloads').orderBy('body').pluck('body');
  return rows.map((body) => body.toString());
}

/** Commands whose payload is gone. */
async function orphans(): Promise<number> {
  const rows = await knex('commands').whereNull('payload').whereRaw('commands.plist is null');
  return rows.length;
}

/** True as soon as another connection waits for a lock. */
async function isBlocked(): Promise<boolean> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { rows } = await knex.raw('select from pg_locks where not granted');
    if (rows.length > 0) return true;
    await sleep(10);
  }
  return false;
}

describe('storing shared payloads', () => {
  it('stores each once, and commands refer to them in the order given', async () => {
    const ids = await inTransaction(test.db, (trx) => insert(trx, 'b', 'a', 'b'));
    await inTransaction(test.db, (trx) => insert(trx, 'a', 'c'));
    expect(await bodies()).toEqual(['a', 'b', 'c']);
    const rows = await knex('commands')
      .whereIn('id', ids)
      .orderBy('id')
      .select(knex.raw('commands.plist'));
    expect(rows.map(({ plist }) => plist.toString())).toEqual(['b', 'a', 'b']);
  });

  it('refuses a command with two payloads or none, and one whose payload does not exist', async () => {
    const { sha256 } = payload('missing');
    const row = { device_id: deviceId, request_type: 'X' };
    const values = [
      { ...row, uuid: crypto.randomUUID() },
      { ...row, uuid: crypto.randomUUID(), payload: Buffer.of(1), payload_sha256: sha256 },
    ];
    for (const value of values) {
      await expect(knex('commands').insert(value)).rejects.toMatchObject({
        code: '23514',
        constraint: 'commands_one_payload',
      });
    }
    await expect(
      knex('commands').insert({ ...row, uuid: crypto.randomUUID(), payload_sha256: sha256 }),
    ).rejects.toMatchObject({ code: '23503', constraint: 'commands_payload_sha256_fkey' });
  });

  it('waits for another transaction that stores the same one, whether or not that commits', async () => {
    for (const ending of ['commit', 'rollback'] as const) {
      await knex('commands').delete();
      await knex('command_payloads').delete();
      const first = await knex.transaction();
      await insert(first, 'a');
      const second = inTransaction(test.db, (trx) => insert(trx, 'a'));
      expect(await isBlocked()).toBe(true);
      await first[ending]();
      expect(await second).toHaveLength(1);
      expect([await bodies(), await orphans()]).toEqual([['a'], 0]);
    }
  });
});

describe('removing unused payloads', () => {
  it('removes those without a command that are a day old, and no others', async () => {
    await inTransaction(test.db, (trx) => insert(trx, 'used', 'unused', 'new'));
    await age();
    const unused = ['unused', 'new'].map((text) => payload(text).sha256);
    await knex('commands').whereIn('payload_sha256', unused).delete();
    await knex('command_payloads')
      .where({ sha256: payload('new').sha256 })
      .update({ created_at: knex.raw("now() - interval '23 hours'") });
    expect(await removeUnusedPayloads(test.db, 10)).toBe(1);
    expect(await bodies()).toEqual(['new', 'used']);
    expect(await removeUnusedPayloads(test.db, 10)).toBe(0);
  });

  it('removes at most as many as it is asked to', async () => {
    await inTransaction(test.db, (trx) => insert(trx, 'a', 'b', 'c'));
    await knex('commands').delete();
    await age();
    expect(await removeUnusedPayloads(test.db, 2)).toBe(2);
    expect(await removeUnusedPayloads(test.db, 2)).toBe(1);
  });

  it('goes with the commands of a deleted device', async () => {
    const [{ id }] = await knex('devices').insert({ model: 'b' }).returning('id');
    const one = { ...command(payload('a')), device_id: id };
    await inTransaction(test.db, (trx) => insertCommands(trx, [one]));
    await age();
    expect(await removeUnusedPayloads(test.db, 2)).toBe(0);
    await knex('devices').where({ id }).delete();
    expect(await removeUnusedPayloads(test.db, 2)).toBe(1);
  });

  it('leaves one that a command being queued refers to', async () => {
    await inTransaction(test.db, (trx) => insert(trx, 'a'));
    await knex('commands').delete();
    await age();
    const queueing = await knex.transaction();
    await insert(queueing, 'a');
    expect(await removeUnusedPayloads(test.db, 10)).toBe(0);
    await queueing.commit();
    expect(await removeUnusedPayloads(test.db, 10)).toBe(0);
    expect([await bodies(), await orphans()]).toEqual([['a'], 0]);
  });

  it('that is under way makes a command being queued store the payload again', async () => {
    await inTransaction(test.db, (trx) => insert(trx, 'a'));
    await knex('commands').delete();
    const removing = await knex.transaction();
    expect(await removing('command_payloads').delete()).toBe(1);
    const queueing = inTransaction(test.db, (trx) => insert(trx, 'a'));
    expect(await isBlocked()).toBe(true);
    await removing.commit();
    expect(await queueing).toHaveLength(1);
    expect([await bodies(), await orphans()]).toEqual([['a'], 0]);
  });

  it('never takes the payload of a command, while others queue and delete at random', async () => {
    const texts = ['a', 'b', 'c', 'd'];
    const until = Date.now() + 3_000;
    const counts = { queued: 0, removed: 0 };
    // A slow machine takes longer for as many: the time limit of the test ends what never gets there.
    const goesOn = () => Date.now() < until || counts.queued <= 50 || counts.removed <= 5;
    const queueing = async () => {
      while (goesOn()) {
        const some = texts.filter(() => Math.random() < 0.5);
        counts.queued += (await inTransaction(test.db, (trx) => insert(trx, ...some))).length;
        await knex('commands').whereRaw('random() < 0.7').delete();
      }
    };
    const removing = async () => {
      while (goesOn()) {
        await age();
        counts.removed += await removeUnusedPayloads(test.db, 2);
      }
    };
    await Promise.all([queueing(), queueing(), queueing(), removing(), removing()]);
    expect(await orphans()).toBe(0);
  }, 60_000);
});
