import { createRearmTask } from '../../src/push/rearm-task.js';
import { capturingLogger } from '../http/log-lines.js';
import { type PushFixture, startPushFixture, type TestTarget, TOPIC } from './push-fixture.js';

const { logger } = capturingLogger();
let fixture: PushFixture;

beforeAll(async () => {
  fixture = await startPushFixture();
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const OTHER = 'com.apple.mgmt.External.aaaaaaaa-0000-4000-8000-000000000002';

async function waiting(targets: TestTarget[], row: object = {}): Promise<void> {
  const due_at = fixture.db.knex.raw("now() + interval '1 hour'");
  const rows = targets.map(({ id }) => ({ device_id: id, due_at, ...row }));
  await fixture.db.knex.batchInsert('device_pushes', rows, 500);
}

async function run(signal = new AbortController().signal): Promise<void> {
  const task = createRearmTask({ db: fixture.db, logger });
  await task.run(task.parse({ topic: TOPIC }), { jobId: 1, attempt: 1, signal });
}

async function dueIn(targets: TestTarget[]): Promise<number[]> {
  const rows = await Promise.all(targets.map((target) => fixture.pushRow(target)));
  return rows.map((row) => row?.due_in ?? Number.NaN).sort((one, other) => one - other);
}

describe('rearming a topic', () => {
  it('requires a topic', () => {
    expect(() => createRearmTask({ db: fixture.db, logger }).parse({})).toThrow(/topic/);
  });

  it('makes its devices due in three seconds, then five hundred a second', async () => {
    const targets = await fixture.devices(1_200);
    await waiting(targets);
    await fixture.db.knex('push_topics').insert({
      topic: TOPIC,
      blocked_reason: 'BadCertificate',
      retry_at: fixture.db.knex.raw("now() + interval '1 hour'"),
    });
    const { rows } = await fixture.db.knex.raw('select now() as began');
    await run();
    expect(await fixture.db.knex('push_topics')).toEqual([]);
    const moments = await fixture.db
      .knex('device_pushes')
      .orderBy('due_at')
      .select<{ after: number }[]>(
        fixture.db.knex.raw('extract(epoch from due_at - ?::timestamptz)::float8 as after', [
          rows[0].began,
        ]),
      );
    const [first, middle, last] = [moments[0], moments[600], moments[1_199]];
    expect(first?.after).toBeGreaterThan(2.9);
    expect((middle?.after ?? 0) - (first?.after ?? 0)).toBeGreaterThan(1.1);
    expect((last?.after ?? 0) - (first?.after ?? 0)).toBeGreaterThan(2.3);
    expect(last?.after).toBeLessThan(30);
  });

  it('does not change pushes that are under way, due already, or of another topic', async () => {
    const [claimed, due, others] = [
      await fixture.devices(1),
      await fixture.devices(1),
      await fixture.devices(1, OTHER),
    ];
    await waiting(claimed, { claimed_at: fixture.db.knex.fn.now() });
    await waiting(due, { due_at: fixture.db.knex.fn.now() });
    await waiting(others);
    await run();
    await run();
    expect((await dueIn(claimed))[0]).toBeGreaterThan(3_500);
    expect((await dueIn(due))[0]).toBeLessThanOrEqual(0);
    expect((await dueIn(others))[0]).toBeGreaterThan(3_500);
  });

  it('ends early when the process stops', async () => {
    const targets = await fixture.devices(1);
    await waiting(targets);
    const stopped = new AbortController();
    stopped.abort(new Error('stopping'));
    await expect(run(stopped.signal)).rejects.toThrow('stopping');
    expect((await dueIn(targets))[0]).toBeGreaterThan(3_500);
  });
});
