import { DepError, type DepErrorKind } from '../../../src/dep/client/dep-error.js';
import { listing, page, type SyncFixture, startSyncFixture } from './sync-fixture.js';

let fixture: SyncFixture;
beforeAll(async () => {
  fixture = await startSyncFixture();
});
beforeEach(() => fixture.reset());
afterAll(() => fixture.database.drop());

const more = { moreToFollow: true };

function fail(kind: DepErrorKind, options: ConstructorParameters<typeof DepError>[2] = {}) {
  return () => {
    throw new DepError(kind, `it is ${kind}`, options);
  };
}

async function known(columns = ['serial_number', 'fetch_number']) {
  const rows = await fixture.knex('dep_devices').whereNull('removed_at').orderBy('serial_number');
  return rows.map((row: Record<string, unknown>) => columns.map((name) => row[name]));
}

const jobNames = async () => (await fixture.jobs()).map(({ key }) => key);

async function change(columns: object) {
  await fixture.knex('dep_accounts').update(columns);
}

async function full(list: string[] = []) {
  fixture.answers(page(list.map((serial) => listing(serial))), page([]));
  await fixture.sync();
  fixture.questions.length = 0;
}

describe('a sync with Apple', () => {
  it('makes no call for an account without a token, or a deleted one', async () => {
    for (const column of ['consumer_key', 'access_token', 'sealed_access_secret']) {
      await fixture.sync(await fixture.addAccount({ consumer_key: column, [column]: null }));
    }
    await fixture.sync(987);
    expect(fixture.asked()).toEqual([]);
    expect(await fixture.jobs()).toEqual([]);
  });

  it('reads all devices, then the changes since, and schedules the next sync', async () => {
    const until = new Date('2026-06-01T10:00:00Z');
    fixture.answers(
      page([listing('C02AAAAAAAA1'), listing('C02AAAAAAAA2')], { ...more, cursor: 'c1' }),
      page([listing('C02AAAAAAAA3')], { cursor: 'c2' }),
      page([listing('C02AAAAAAAA4', { opType: 'added' })], { ...more, cursor: 'c3' }),
      page([], { cursor: 'c4', fetchedUntil: until }),
    );
    const before = Date.now();
    await fixture.sync();
    expect(fixture.questions).toEqual([
      { call: 'fetch', cursor: null, limit: 1000 },
      { call: 'fetch', cursor: 'c1', limit: 1000 },
      { call: 'sync', cursor: 'c2', limit: 1000 },
      { call: 'sync', cursor: 'c3', limit: 1000 },
    ]);
    expect(await known()).toEqual(['1', '2', '3', '4'].map((n) => [`C02AAAAAAAA${n}`, 1]));
    const account = await fixture.account();
    expect(account).toMatchObject({
      cursor: 'c4',
      more_to_follow: false,
      fetched_until: until,
      sync_phase: 'delta',
      sync_state: 'idle',
      sync_kind: 'full',
      sync_pages: 4,
      sync_devices: 4,
      sync_error: null,
      sync_owner: null,
      sync_lease_until: null,
      fetch_number: 1,
    });
    expect(Number(account.sync_finished_at)).toBeGreaterThanOrEqual(before - 1000);
    expect(Number(account.next_sync_at)).toBeGreaterThanOrEqual(before + 900_000);
    expect(Number(account.next_sync_at)).toBeLessThan(Date.now() + 901_000);
    expect(await jobNames()).toEqual(['dep.reconcile/1']);
    const { level, msg, ...fields } = fixture.log.lines[0] ?? { level: 0, msg: '' };
    expect([level, msg]).toEqual([30, 'DEP devices synced']);
    const figures = { kind: 'full', pages: 4, devices: 4, added: 4, removed: 0 };
    expect(fields).toMatchObject({ depAccountId: 1, ...figures });
  });

  it('then fetches only changes, and logs nothing when there are none', async () => {
    await full(['C02AAAAAAAA1']);
    fixture.log.lines.length = 0;
    await fixture.sync(1, { syncInterval: undefined });
    expect(fixture.asked()).toEqual(['sync c1']);
    expect(fixture.log.lines).toEqual([]);
    const account = await fixture.account();
    expect(account).toMatchObject({ sync_kind: 'delta', sync_pages: 1, sync_devices: 0 });
    expect(account.next_sync_at).toBeNull();
  });

  it('continues with changes after a full fetch that was read to its end', async () => {
    fixture.answers(page([listing('C02AAAAAAAA1')], { ...more, cursor: 'c9' }), fail('refused'));
    await fixture.sync();
    fixture.answers(fail('cursor_exhausted'), page([], { cursor: 'c10' }));
    await fixture.sync();
    expect(fixture.asked().slice(2)).toEqual(['fetch c9', 'sync c9']);
    expect(await fixture.account()).toMatchObject({ cursor: 'c10', sync_phase: 'delta' });
  });

  it('removes no device when Apple ends the fetch before its first page', async () => {
    await full(['C02AAAAAAAA1']);
    await change({ cursor: null });
    fixture.answer(fail('cursor_exhausted'));
    await fixture.sync();
    expect(fixture.asked()).toEqual(['fetch null', 'fetch null']);
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    expect((await fixture.account()).sync_error).toMatch(/lost the cursor twice/);
  });

  it('does not continue a fetch that it did not begin', async () => {
    await change({ cursor: 'c9', sync_phase: 'fetch' });
    await fixture.sync();
    expect(fixture.asked()).toEqual(['fetch null', 'sync c1']);
  });

  it('logs once how many devices have no usable serial number', async () => {
    fixture.answers(
      page([listing('C02AAAAAAAA1')], { ...more, skipped: 2 }),
      page([], { skipped: 1 }),
    );
    await fixture.sync();
    const warned = fixture.log.lines.filter(({ level }) => level === 40);
    expect(warned).toMatchObject([{ depAccountId: 1, skipped: 3 }]);
  });

  it('starts again, once, when Apple has lost the cursor', async () => {
    await full(['C02AAAAAAAA1', 'C02AAAAAAAA2']);
    fixture.answers(
      fail('cursor_lost'),
      page([listing('C02AAAAAAAA1')], { cursor: 'd1' }),
      page([], { cursor: 'd2' }),
    );
    await fixture.sync();
    expect(fixture.asked()).toEqual(['sync c1', 'fetch null', 'sync d1']);
    expect(await known()).toEqual([['C02AAAAAAAA1', 2]]);
    const account = { cursor: 'd2', fetch_number: 2, sync_kind: 'full', sync_error: null };
    expect(await fixture.account()).toMatchObject(account);
  });

  it('ends when Apple loses it twice, and the next one starts from the beginning', async () => {
    await full(['C02AAAAAAAA1']);
    fixture.answers(fail('cursor_lost'), page([], more), fail('cursor_lost'));
    await fixture.sync();
    expect(await fixture.account()).toMatchObject({
      cursor: null,
      sync_phase: 'fetch',
      sync_state: 'idle',
      sync_owner: null,
      sync_error: expect.stringMatching(/lost the cursor twice/) as string,
    });
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    await full();
    expect(await fixture.account()).toMatchObject({ sync_error: null, fetch_number: 4 });
  });

  it('ends with an error when the cursor repeats, or page after page is empty', async () => {
    await full();
    fixture.answer(() => page([listing('C02AAAAAAAA1')], more));
    await fixture.sync();
    expect(fixture.asked()).toEqual(['sync c1']);
    const { sync_error } = await fixture.account();
    expect(sync_error).toContain('POST /api/v1/dep/accounts/1/sync?full=true');
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    fixture.answer(() => page([], { ...more, cursor: `c${fixture.questions.length}` }));
    await fixture.sync();
    expect(fixture.questions).toHaveLength(11);
    expect(await fixture.account()).toMatchObject({ cursor: 'c11', sync_state: 'idle' });
  });

  it('queues the assignment of profiles after every tenth page of a full fetch', async () => {
    let count = 0;
    const left: string[][] = [];
    fixture.answer(async () => {
      left.push((await jobNames()).filter((key) => key !== null));
      count += 1;
      return page([listing(`C02${count}`)], { cursor: `c${count}`, moreToFollow: count < 11 });
    });
    await fixture.sync();
    expect(left.slice(8)).toEqual([[], [], ['dep.reconcile/1'], ['dep.reconcile/1']]);
  });
});

describe('a sync that Apple ends', () => {
  it('is repeated at the time that Apple names, and keeps the pages it has', async () => {
    const retryAt = new Date(Date.now() + 45_000);
    fixture.answers(
      page([listing('C02AAAAAAAA1')], more),
      fail('throttled', { retryAt, text: 'TOO_MANY' }),
    );
    await fixture.sync();
    expect(await fixture.account()).toMatchObject({
      cursor: 'c1',
      sync_phase: 'fetch',
      sync_state: 'waiting',
      sync_finished_at: null,
      sync_error: 'it is throttled: TOO_MANY',
      next_sync_at: retryAt,
      sync_pages: 1,
    });
    const [job] = await fixture.jobs();
    expect(job).toMatchObject({ key: 'dep.sync/1', run_at: retryAt });
    fixture.answers(page([listing('C02AAAAAAAA2')], { cursor: 'c2' }));
    await fixture.sync();
    expect(fixture.asked()).toEqual(['fetch null', 'fetch c1', 'fetch c1', 'sync c2']);
    expect(await known()).toEqual([
      ['C02AAAAAAAA1', 1],
      ['C02AAAAAAAA2', 1],
    ]);
    const account = { sync_pages: 3, sync_devices: 2, sync_kind: 'full', sync_error: null };
    expect(await fixture.account()).toMatchObject(account);
  });

  it.each([
    [0, 22_500, 30_000],
    [3, 180_000, 240_000],
    [9, 675_000, 900_000],
  ])('waits longer after each missing answer: after %d failures', async (...given) => {
    const [attempt, least, most] = given;
    fixture.answers(fail('unreachable'));
    const before = Date.now();
    await fixture.sync(1, { attempt });
    const [job] = await fixture.jobs();
    const wait = Number(job?.run_at) - before;
    expect(wait).toBeGreaterThanOrEqual(least);
    expect(wait).toBeLessThanOrEqual(most + 1_000);
    const { rows } = await fixture.knex.raw('select payload from graphile_worker._private_jobs');
    expect(rows).toEqual([{ payload: { accountId: 1, attempt: attempt + 1 } }]);
  });

  it.each<DepErrorKind>(['terms_not_signed', 'token_rejected', 'token_expired', 'refused'])(
    'waits for its schedule because of %s',
    async (kind) => {
      await full(['C02AAAAAAAA1']);
      fixture.answers(fail(kind));
      await fixture.sync();
      expect(await jobNames()).toEqual(['dep.reconcile/1']);
      const account = await fixture.account();
      expect(account).toMatchObject({ sync_state: 'idle', sync_error: `it is ${kind}` });
      expect(Number(account.next_sync_at)).toBeGreaterThan(Date.now() + 890_000);
      expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    },
  );

  it('is logged once, however often it fails', async () => {
    fixture.answer(fail('refused'));
    await fixture.sync();
    await fixture.sync();
    expect(fixture.log.lines.map(({ level }) => level)).toEqual([40, 20]);
    expect(fixture.log.lines[0]).toMatchObject({ depAccountId: 1, detail: 'it is refused' });
  });
});

describe('a sync that is interrupted', () => {
  it('stores neither a page nor its cursor when that happens before the commit', async () => {
    const dead = new Error('the process died');
    await fixture.knex.raw(`create function die() returns trigger language plpgsql as
      $$ begin raise exception 'died'; end $$;
      create trigger die before insert on dep_devices for each row
      when (new.serial_number = 'C02AAAAAAAA2') execute function die()`);
    fixture.answers(
      page([listing('C02AAAAAAAA1')], more),
      page([listing('C02AAAAAAAA2')], { cursor: 'c2' }),
    );
    await expect(fixture.sync()).rejects.toThrow();
    await fixture.knex.raw('drop trigger die on dep_devices; drop function die()');
    expect(await fixture.account()).toMatchObject({
      cursor: 'c1',
      sync_owner: null,
      sync_pages: 1,
    });
    expect(await fixture.knex('devices').pluck('serial_number')).toEqual(['C02AAAAAAAA1']);
    fixture.answers(() => {
      throw dead;
    });
    await expect(fixture.sync()).rejects.toBe(dead);
    fixture.answers(page([listing('C02AAAAAAAA2')], { cursor: 'c2' }));
    await fixture.sync();
    expect(fixture.asked().slice(3)).toEqual(['fetch c1', 'sync c2']);
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1'], ['C02AAAAAAAA2']]);
    expect(await fixture.knex('devices')).toHaveLength(2);
  });

  it('stops between pages and releases the lease when the process ends', async () => {
    const stop = new AbortController();
    const reason = new Error('the server stops');
    fixture.answers(page([listing('C02AAAAAAAA1')], more), () => {
      stop.abort(reason);
      return page([listing('C02AAAAAAAA2')], more);
    });
    await expect(fixture.sync(1, { signal: stop.signal })).rejects.toBe(reason);
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    const account = {
      sync_state: 'waiting',
      sync_owner: null,
      sync_lease_until: null,
      cursor: 'c1',
    };
    expect(await fixture.account()).toMatchObject(account);
  });

  it('is left to the process that runs it, and is queued again soon', async () => {
    await change({ sync_owner: 'other', sync_lease_until: new Date(Date.now() + 30_000) });
    const before = Date.now();
    await fixture.sync();
    expect(fixture.asked()).toEqual([]);
    const [job] = await fixture.jobs();
    expect(job?.key).toBe('dep.sync/1');
    expect(Number(job?.run_at) - before).toBeGreaterThan(4_000);
    expect(Number(job?.run_at) - before).toBeLessThan(10_000);
    expect(await fixture.account()).toMatchObject({ sync_owner: 'other' });
  });

  it('is done by one of two processes that begin at once', async () => {
    fixture.answers(page([listing('C02AAAAAAAA1')]), page([], { cursor: 'c2' }));
    await Promise.all([fixture.sync(), fixture.sync()]);
    expect(fixture.asked()).toEqual(['fetch null', 'sync c1']);
    expect(await fixture.knex('devices')).toHaveLength(1);
    expect(new Set(await jobNames())).toEqual(new Set(['dep.sync/1', 'dep.reconcile/1']));
  });

  it('is taken over from a process that has fallen silent', async () => {
    const dead = { sync_owner: 'dead', sync_lease_until: new Date(Date.now() - 1), cursor: 'c5' };
    const running = { sync_state: 'running', sync_kind: 'full', sync_started_at: new Date() };
    await change({ ...dead, ...running, fetch_number: 3 });
    fixture.answers(page([listing('C02AAAAAAAA1')], { cursor: 'c6' }));
    await fixture.sync();
    expect(fixture.asked()).toEqual(['fetch c5', 'sync c6']);
    expect(await known()).toEqual([['C02AAAAAAAA1', 3]]);
  });

  it.each<[string, object, object]>([
    ['another process', { sync_owner: 'other' }, { sync_owner: 'other' }],
    ['a request for all devices', { cursor: null, sync_phase: 'fetch' }, { cursor: null }],
    ['another token', { consumer_key: 'CK_other' }, { cursor: 'c1' }],
    ['its own death, as it seemed', { sync_lease_until: new Date(0) }, { cursor: 'c1' }],
  ])('stores nothing more after %s', async (_, columns, left) => {
    fixture.answers(page([listing('C02AAAAAAAA1')], more), async () => {
      await change(columns);
      return page([listing('C02AAAAAAAA2')], { cursor: 'c2' });
    });
    await fixture.sync();
    expect(await known(['serial_number'])).toEqual([['C02AAAAAAAA1']]);
    expect(await fixture.account()).toMatchObject({ sync_pages: 1, ...left });
    expect(await jobNames()).toEqual(['dep.sync/1']);
    expect(fixture.questions).toHaveLength(2);
  });

  it('makes no further call once there is a token of another server', async () => {
    fixture.answer(() => page([listing('C02AAAAAAAA1')], more));
    fixture.onUse = async (question) => {
      if (question === 1) await change({ consumer_key: 'CK_other' });
    };
    await fixture.sync();
    expect(fixture.asked()).toEqual(['fetch null']);
    expect(await jobNames()).toEqual(['dep.sync/1']);
  });

  it('is not taken over while Apple is slow', async () => {
    await full();
    const lease = async () => Number((await fixture.account()).sync_lease_until);
    fixture.answers(async () => {
      const soon = Date.now() + 5_000;
      await change({ sync_lease_until: new Date(soon) });
      while ((await lease()) <= soon) await new Promise((resolve) => setTimeout(resolve, 5));
      return page([]);
    });
    await fixture.sync(1, { renewInterval: 10 });
    expect(await fixture.account()).toMatchObject({ sync_error: null, sync_state: 'idle' });
  });

  it('makes no further call when the lease is lost meanwhile', async () => {
    fixture.answers(async () => {
      await change({ sync_owner: 'other' });
      return await new Promise(() => undefined);
    });
    await fixture.sync(1, { renewInterval: 10 });
    expect(await jobNames()).toEqual(['dep.sync/1']);
    expect(await fixture.account()).toMatchObject({ sync_owner: 'other', cursor: null });
  });
});
