import { connectDatabase } from '../../../src/db/connection/database.js';
import { counter, createFeedFixture, type FeedFixture, pidOf, until } from './feed-under-test.js';

let fixture: FeedFixture;

beforeAll(async () => {
  fixture = await createFeedFixture();
});
afterEach(() => fixture.stopFeeds());
afterAll(() => fixture.close());

function certificate(purpose: string) {
  const fingerprint = Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'latin1');
  return {
    purpose,
    subject: 'CN=x',
    issuer: 'CN=x',
    serial: '1',
    fingerprint,
    not_before: new Date(0),
    not_after: new Date(),
    der: Buffer.of(0),
  };
}

async function insertToken(): Promise<number> {
  const token_hash = Buffer.from(crypto.randomUUID());
  const [row] = await fixture.other
    .knex('tokens')
    .insert({ name: 'x', role: 'viewer', token_hash }, 'id');
  return row.id;
}

describe('a change feed', () => {
  it('runs nothing for a change that was rolled back', async () => {
    const { feed } = fixture.feedOf();
    const [topics, tokens] = [counter(), counter()];
    feed.on('push_topics', topics.listener);
    feed.on('tokens', tokens.listener);
    await feed.start();
    const trx = await fixture.other.knex.transaction();
    await trx('push_topics').insert({ topic: 'x', blocked_reason: 'x', retry_at: new Date() });
    await trx.rollback();
    await fixture.other
      .knex('tokens')
      .where({ id: await insertToken() })
      .delete();
    await tokens.reaches(2);
    expect(topics.count()).toBe(1);
  });

  it('runs nothing for what no process keeps in memory', async () => {
    const { feed } = fixture.feedOf();
    const seen = counter();
    for (const topic of ['tokens', 'authorities', 'push_certificates'] as const) {
      feed.on(topic, seen.listener);
    }
    const blocked = counter();
    feed.on('push_topics', blocked.listener);
    await feed.start();
    const id = await insertToken();
    await fixture.other.knex('tokens').where({ id }).update({ last_used_at: new Date() });
    await fixture.other.knex('certificates').insert(certificate('mdm.device'));
    await fixture.other.knex('certificates').insert(certificate('mdm.webcrt'));
    await fixture.blockTopic();
    await blocked.reaches(2);
    expect(seen.count()).toBe(3);
  });

  it('runs each listener once at the start, since a change may have been missed', async () => {
    await fixture.blockTopic();
    const { feed } = fixture.feedOf();
    const [topics, pushes] = [counter(), counter()];
    feed.on('push_topics', topics.listener);
    feed.on('pushes', pushes.listener);
    await feed.start();
    expect([topics.count(), pushes.count()]).toEqual([1, 0]);
  });

  it.each<[string, 'tokens' | 'authorities' | 'push_certificates' | 'push_topics', () => unknown]>([
    [
      'a revoked token',
      'tokens',
      () => fixture.other.knex('tokens').update({ revoked_at: new Date() }),
    ],
    [
      'another expiry',
      'tokens',
      () => fixture.other.knex('tokens').update({ expires_at: new Date() }),
    ],
    ['another role', 'tokens', () => fixture.other.knex('tokens').update({ role: 'operator' })],
    [
      'a new CA',
      'authorities',
      () => fixture.other.knex('certificates').insert(certificate('mdm.cacert')),
    ],
    [
      'another SCEP configuration',
      'authorities',
      () => fixture.other.knex('scep_configurations').insert({ id: 1 }),
    ],
    [
      'a new push certificate',
      'push_certificates',
      () => fixture.other.knex('certificates').insert(certificate('mdm.pushcert')),
    ],
    ['a blocked topic', 'push_topics', () => fixture.blockTopic()],
  ])('notices %s by the notification alone', async (_what, topic, change) => {
    await fixture.other.knex('tokens').delete();
    await insertToken();
    const { feed } = fixture.feedOf();
    const seen = counter();
    feed.on(topic, seen.listener);
    await feed.start();
    await change();
    await seen.reaches(2);
    expect(seen.count()).toBe(2);
  });

  it('logs a listener that fails, runs the others, and tries it again until it succeeds', async () => {
    const { feed, lines } = fixture.feedOf({ pollMs: 20 });
    const [failing, seen] = [counter(), counter()];
    feed.on('push_topics', () => {
      failing.listener();
      if (failing.count() === 1) throw new Error('no memory');
      return failing.count() === 2 ? Promise.reject(new Error('no database')) : undefined;
    });
    feed.on('push_topics', seen.listener);
    await feed.start();
    await failing.reaches(3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([failing.count(), seen.count()]).toEqual([3, 3]);
    const failure = {
      level: 50,
      topic: 'push_topics',
      msg: 'a change could not be applied here; it is tried again',
    };
    expect(lines).toMatchObject([failure, failure]);
  });

  it('waits for a listener under way when it stops', async () => {
    const { feed } = fixture.feedOf();
    let isDone = false;
    feed.on('push_topics', async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      isDone = true;
    });
    await feed.start();
    expect(isDone).toBe(false);
    await feed.stop();
    expect(isDone).toBe(true);
  });

  it('calls no listener once it is stopped, and closes its connection', async () => {
    const { feed, clients } = fixture.feedOf({ pollMs: 10 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    const pid = pidOf(clients[0]);
    expect(await fixture.isAlive(pid)).toBe(true);
    await feed.stop();
    await until(async () => !(await fixture.isAlive(pid)));
    await fixture.blockTopic();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen.count()).toBe(1);
  });
});

describe('an announcement', () => {
  it('reaches this process at once, then the others, and none twice', async () => {
    const [here, there] = [fixture.feedOf(), fixture.feedOf()];
    const [near, far] = [counter(), counter()];
    here.feed.on('pushes', near.listener);
    there.feed.on('pushes', far.listener);
    await here.feed.start();
    await there.feed.start();
    here.feed.announce('pushes');
    expect(near.count()).toBe(1);
    await far.reaches(1);
    there.feed.announce('pushes');
    await near.reaches(2);
    expect([near.count(), far.count()]).toEqual([2, 2]);
  });

  it('made a thousand times is sent a few times, the last time included', async () => {
    const [here, there] = [fixture.feedOf(), fixture.feedOf()];
    const [near, far] = [counter(), counter()];
    here.feed.on('pushes', near.listener);
    there.feed.on('pushes', far.listener);
    await here.feed.start();
    await there.feed.start();
    for (let call = 0; call < 1_000; call += 1) here.feed.announce('pushes');
    expect(near.count()).toBe(1_000);
    await far.reaches(1);
    await far.reaches(2);
    await here.feed.stop();
    expect(far.count()).toBe(2);
  });

  it('that waits for its turn is not lost when the feed stops', async () => {
    const [here, there] = [fixture.feedOf(), fixture.feedOf()];
    const far = counter();
    there.feed.on('pushes', far.listener);
    await here.feed.start();
    await there.feed.start();
    here.feed.announce('pushes');
    here.feed.announce('pushes');
    await here.feed.stop();
    await far.reaches(2);
  });

  it('does not reject when there is no database', async () => {
    const db = connectDatabase({ connectionString: fixture.test.connectionString });
    await db.close();
    const { feed, lines } = fixture.feedOf({ db });
    const near = counter();
    feed.on('pushes', near.listener);
    feed.announce('pushes');
    await feed.stop();
    expect(near.count()).toBe(1);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [20, 'other processes could not be notified'],
    ]);
  });
});
