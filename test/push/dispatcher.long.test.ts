import { claimPushes } from '../../src/db/push/push-queue.js';
import { eventually, type PushFixture, startPushFixture, type TestTarget } from './push-fixture.js';

let fixture: PushFixture;

beforeAll(async () => {
  fixture = await startPushFixture();
  await fixture.addCertificate();
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const MINUTE = 60;
const HOUR = 60 * MINUTE;

const pushes = () => fixture.db.knex('device_pushes');

async function makeDue(target: TestTarget): Promise<void> {
  await pushes().where({ device_id: target.id }).update({ due_at: fixture.db.knex.fn.now() });
}

/** Resolves when the target has had so many pushes and no claim is open. */
function pushed(target: TestTarget, count: number): Promise<void> {
  return eventually(async () => {
    expect(fixture.accepted(target)).toBe(count);
    expect((await fixture.pushRow(target))?.claimed_at ?? null).toBeNull();
  });
}

/** Resolves when the target needs no push any more. */
function forgotten(target: TestTarget): Promise<void> {
  return eventually(async () => expect(await fixture.pushRow(target)).toBeUndefined());
}

describe('a request for a push', () => {
  it.each([
    ['is not enrolled', { is_enrolled: false }],
    ['has given no token', { sealed_push: null }],
    ['has given its token up', { push_state: 'unregistered' }],
  ])('is not made for a device that %s', async (_, facts) => {
    const target = await fixture.device();
    await fixture.db.knex('devices').where({ id: target.id }).update(facts);
    await fixture.queueCommand(target);
    expect(await fixture.pushRow(target)).toBeUndefined();
  });

  it('is rolled back with the command that caused it', async () => {
    const target = await fixture.device();
    const command = { requestType: 'ProfileList', parameters: {} };
    const work = fixture.db.knex.transaction(async (trx) => {
      await fixture.queue.add(trx, target.id, command);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await fixture.pushRow(target)).toBeUndefined();
  });

  it('is a single one for many commands', async () => {
    const target = await fixture.device();
    for (let count = 0; count < 6; count += 1) await fixture.queueCommand(target);
    expect(await pushes().where({ device_id: target.id })).toHaveLength(1);
    fixture.start();
    await pushed(target, 1);
  });
});

describe('the dispatcher', () => {
  it('does not push a device without queued commands', async () => {
    const target = await fixture.device();
    await fixture.queueCommand(target);
    await fixture.db.knex('commands').update({ status: 'Acknowledged' });
    fixture.start();
    await forgotten(target);
    expect(fixture.accepted(target)).toBe(0);
  });

  it('does not push for an expired command', async () => {
    const target = await fixture.device();
    await fixture.queueCommand(target);
    await fixture.db.knex('commands').update({ expires_at: new Date(Date.now() - 1000) });
    fixture.start();
    await forgotten(target);
    expect(fixture.accepted(target)).toBe(0);
  });

  it('does not push a device that is no longer enrolled', async () => {
    const target = await fixture.device();
    await fixture.queueCommand(target);
    await fixture.db.knex('devices').where({ id: target.id }).update({ is_enrolled: false });
    fixture.start();
    await forgotten(target);
    expect(fixture.accepted(target)).toBe(0);
  });

  it('pushes within a second of the command and stores the result with the device', async () => {
    const target = await fixture.device();
    const { results } = fixture.start();
    const before = new Date();
    await fixture.queueCommand(target);
    await eventually(() => expect(fixture.accepted(target)).toBe(1), 1_000);
    await pushed(target, 1);
    const device = await fixture.deviceRow(target);
    expect(device).toMatchObject({ last_push_result: 'delivered', failed_push_count: 0 });
    expect(device.last_apns_id).toMatch(/^[\da-f-]{36}$/i);
    expect(Number(device.last_push_at)).toBeGreaterThanOrEqual(before.getTime() - 1000);
    expect(results).toEqual(new Map([['delivered', 1]]));
  });

  it('finds due pushes without a notification', async () => {
    const target = await fixture.device();
    fixture.start();
    await fixture.db.knex('commands').insert({
      uuid: '6f1d7b52-0000-4000-8000-000000000001',
      device_id: target.id,
      request_type: 'ProfileList',
      payload: Buffer.from('plist'),
    });
    await pushes().insert({ device_id: target.id, due_at: fixture.db.knex.fn.now() });
    await pushed(target, 1);
  });

  it('pushes again for a command that was queued while a push was under way', async () => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ token: target.token, status: 200, delayMs: 300, times: 1 });
    fixture.start();
    await fixture.queueCommand(target);
    await eventually(() => expect(fixture.standIn.answers()).toEqual([]));
    await fixture.queueCommand(target);
    await pushed(target, 2);
    expect(await fixture.pushRow(target)).toMatchObject({ attempts: 1 });
  });

  it('repeats the push of a device that does not connect, less and less often', async () => {
    const target = await fixture.device();
    const { service } = fixture.start();
    await fixture.queueCommand(target);
    const usual = [2 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR, 24 * HOUR];
    for (const [index, seconds] of usual.entries()) {
      if (index > 0) await makeDue(target);
      service.wake();
      await pushed(target, index + 1);
      const row = await fixture.pushRow(target);
      expect(row?.attempts).toBe(index + 1);
      expect(row?.due_in).toBeGreaterThan(0.75 * seconds - 15);
      expect(row?.due_in).toBeLessThanOrEqual(1.25 * seconds);
    }
  });

  it('restarts its schedule with the next command', async () => {
    const target = await fixture.device();
    fixture.start();
    await fixture.queueCommand(target);
    await pushed(target, 1);
    await pushes().update({ attempts: 5 });
    await fixture.queueCommand(target);
    await pushed(target, 2);
    const row = await fixture.pushRow(target);
    expect(row?.attempts).toBe(1);
    expect(row?.due_in).toBeLessThanOrEqual(2.5 * MINUTE);
  });

  it('waits until a command may be sent', async () => {
    const target = await fixture.device();
    const { service } = fixture.start();
    await fixture.queueCommand(target, new Date(Date.now() + HOUR * 1000));
    await makeDue(target);
    service.wake();
    await eventually(async () => {
      const row = await fixture.pushRow(target);
      expect(row?.claimed_at).toBeNull();
      expect(row?.due_in).toBeGreaterThan(HOUR - MINUTE);
      expect(row?.due_in).toBeLessThanOrEqual(HOUR);
    });
    expect(fixture.accepted(target)).toBe(0);
    await fixture.db.knex('commands').update({ after: fixture.db.knex.fn.now() });
    await makeDue(target);
    await pushed(target, 1);
  });

  it('pushes for a delayed command before its schedule is due', async () => {
    const target = await fixture.device();
    await fixture.queueCommand(target);
    await fixture.queueCommand(target, new Date(Date.now() + 30_000));
    fixture.start();
    await pushed(target, 1);
    expect((await fixture.pushRow(target))?.due_in).toBeLessThanOrEqual(30);
  });
});

describe('dispatchers in several processes', () => {
  const dueNow = async (count: number) => {
    const targets = await fixture.devices(count);
    const ids = targets.map(({ id }) => id);
    await fixture.db.knex.raw(
      `insert into commands (uuid, device_id, request_type, payload)
       select gen_random_uuid(), id, 'ProfileList', 'plist' from unnest(?::bigint[]) id`,
      [ids],
    );
    await fixture.db.knex.raw(
      'insert into device_pushes (device_id, due_at) select id, now() from unnest(?::bigint[]) id',
      [ids],
    );
    return targets;
  };

  it('push each of a thousand devices once', async () => {
    const targets = await dueNow(1_000);
    const first = fixture.start();
    const second = fixture.start();
    await eventually(async () => {
      expect(await pushes().whereNull('claimed_at').where({ attempts: 1 })).toHaveLength(1_000);
    });
    expect(new Set(targets.map(fixture.accepted))).toEqual(new Set([1]));
    const delivered = [first, second].map(({ results }) => results.get('delivered') ?? 0);
    expect(delivered.reduce((sum, count) => sum + count)).toBe(1_000);
  });

  it('push what a dead process had claimed, once its claim has expired', async () => {
    const targets = await dueNow(50);
    const claims = await claimPushes(fixture.db, 'device', 20);
    expect(claims).toHaveLength(20);
    fixture.start();
    const claimed = targets.filter(({ id }) =>
      claims.some(({ recipientId }) => recipientId === id),
    );
    const others = targets.filter((target) => !claimed.includes(target));
    for (const target of others) await pushed(target, 1);
    expect(claimed.map(fixture.accepted)).toEqual(claimed.map(() => 0));
    const { rows } = await fixture.db.knex.raw(
      "select max(due_at - claimed_at) <= interval '31 s' as soon from device_pushes where attempts = 0",
    );
    expect(rows).toEqual([{ soon: true }]);
    await pushes().where({ attempts: 0 }).update({ due_at: fixture.db.knex.fn.now() });
    for (const target of claimed) await pushed(target, 1);
  });

  it('lose no push, however requests and claims interleave', async () => {
    const targets = await fixture.devices(20);
    const processes = [fixture.start(), fixture.start()];
    let isOver = false;
    // Rows become due all the time, most of them for devices without commands, and are deleted.
    const stir = async () => {
      while (!isOver) {
        await pushes().whereNull('claimed_at').update({ due_at: fixture.db.knex.fn.now() });
        for (const { service } of processes) service.wake();
      }
    };
    const converse = async (target: TestTarget) => {
      for (let time = 0; time < 15; time += 1) {
        const id = await fixture.queueCommand(target);
        const before = fixture.accepted(target);
        await eventually(() => {
          expect(fixture.accepted(target)).toBeGreaterThan(before);
        });
        await fixture.db.knex('commands').where({ id }).update({ status: 'Acknowledged' });
      }
    };
    const stirring = stir();
    await Promise.all(targets.map(converse)).finally(() => {
      isOver = true;
    });
    await stirring;
  });

  it('do not end a claim that another process has taken over', async () => {
    const target = await fixture.device();
    fixture.standIn.addAnswer({ token: target.token, status: 200, delayMs: 500, times: 1 });
    fixture.start();
    await fixture.queueCommand(target);
    await eventually(() => expect(fixture.standIn.answers()).toEqual([]));
    const [row] = await pushes()
      .where({ device_id: target.id })
      .update({ claimed_at: fixture.db.knex.raw("now() + interval '1 s'") })
      .returning('*');
    await eventually(async () => {
      expect(await fixture.deviceRow(target)).toMatchObject({ last_push_result: 'delivered' });
    });
    expect(await fixture.pushRow(target)).toMatchObject(row);
  });

  it('continue after the database has closed their connections', async () => {
    const targets = await dueNow(300);
    const late = await fixture.device();
    const delayed = targets.slice(0, 50).map(({ token }) => token);
    for (const token of delayed) fixture.standIn.addAnswer({ token, status: 200, delayMs: 300 });
    fixture.start();
    await eventually(() => expect(fixture.standIn.report().total).toBeGreaterThan(0));
    await fixture.db.knex.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await eventually(() => fixture.queueCommand(late));
    await pushed(late, 1);
    // A claim whose end could not be written expires, and its push is claimed again.
    await pushes().whereNotNull('claimed_at').update({ due_at: fixture.db.knex.fn.now() });
    await eventually(async () => {
      expect(await pushes().where({ attempts: 0 })).toEqual([]);
    });
    expect(targets.filter((target) => fixture.accepted(target) === 0)).toEqual([]);
  });
});

describe('pushes that cannot be read', () => {
  it('are logged once, and once when they can be read again', async () => {
    const target = await fixture.device();
    const { knex } = fixture.db;
    const before = fixture.logLines.length;
    const logged = () => fixture.logLines.slice(before).filter(({ level }) => level > 20);
    await knex.raw('alter table device_pushes rename to away');
    fixture.start();
    await eventually(async () => expect(logged()).toHaveLength(1));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await knex.raw('alter table away rename to device_pushes');
    await fixture.queueCommand(target);
    await pushed(target, 1);
    expect(logged().map(({ level, msg }) => [level, msg])).toEqual([
      [40, 'due pushes could not be read'],
      [30, 'due pushes can be read again'],
    ]);
  });
});
