import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { ChangeFeed } from '../../../src/db/processes/change-feed.js';
import { capturingLogger } from '../../http/log-lines.js';
import { counter, createFeedFixture, type FeedFixture, NEVER_MS } from './feed-under-test.js';

let fixture: FeedFixture;

beforeAll(async () => {
  fixture = await createFeedFixture();
});
afterEach(() => fixture.stopFeeds());
afterAll(() => fixture.close());

describe('a change whose notification was missed', () => {
  it('is found after the reconnection', async () => {
    const { feed, lines, clients } = fixture.feedOf({ reconnectMs: 300 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    await fixture.kill(clients[0]);
    await fixture.blockTopic();
    expect(seen.count()).toBe(1);
    await seen.reaches(2);
    expect(clients).toHaveLength(2);
    await fixture.blockTopic();
    await seen.reaches(3);
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [40, 'no connection to listen for changes; trying again'],
      [30, 'listening for changes by other processes again'],
    ]);
  });

  it('is found by polling, while there is no connection', async () => {
    const { feed, clients } = fixture.feedOf({ reconnectMs: NEVER_MS, pollMs: 50 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    await fixture.kill(clients[0]);
    await fixture.blockTopic();
    await seen.reaches(2);
    expect(clients).toHaveLength(1);
  });

  it('is found by polling when the notification was lost', async () => {
    const { feed } = fixture.feedOf({ pollMs: 50 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    await fixture.other.knex('change_topics').where({ topic: 'push_topics' }).increment('version');
    await seen.reaches(2);
  });

  it('is found behind a transaction-mode pooler, where no process listens', async () => {
    const db = connectDatabase({
      connectionString: fixture.test.connectionString,
      namedStatements: false,
    });
    const { feed, clients } = fixture.feedOf({ db, pollMs: 50 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    await fixture.blockTopic();
    await seen.reaches(2);
    expect(clients).toEqual([]);
    await feed.stop();
    await db.close();
  });
});

/** A relay to PostgreSQL that can drop all packets silently, as a firewall does. */
class SilentProxy {
  readonly #server: Server;
  #sockets: Socket[] = [];

  constructor(target: URL) {
    const host = target.searchParams.get('host') ?? target.hostname;
    const port = Number(target.searchParams.get('port') ?? target.port);
    this.#server = createServer((near) => {
      const far = host.startsWith('/')
        ? tcpConnect(`${host}/.s.PGSQL.${port}`)
        : tcpConnect(port, host);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => undefined);
      this.#sockets.push(near, far);
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  }

  silence(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('a database out of reach', () => {
  function through(port: number): Database {
    const url = new URL(fixture.test.connectionString);
    url.search = '';
    url.host = `127.0.0.1:${port}`;
    return connectDatabase({ connectionString: url.href });
  }

  it('does not stop a feed from starting, nor from finding the changes later', async () => {
    const proxy = new SilentProxy(new URL(fixture.test.connectionString));
    const port = await proxy.listen();
    await proxy.close();
    const db = through(port);
    const { logger, lines } = capturingLogger();
    let isBack = false;
    const createClient = () => (isBack ? fixture.test.db : db).createClient();
    const feed = new ChangeFeed({
      db: { ...db, createClient },
      logger,
      pollMs: NEVER_MS,
      reconnectMs: 10,
    });
    const seen = counter();
    feed.on('authorities', seen.listener);
    await feed.start();
    expect(seen.count()).toBe(0);
    isBack = true;
    await seen.reaches(1);
    await feed.stop();
    await db.close();
    expect(lines.map(({ msg }) => msg)).toEqual([
      'changes by other processes are not noticed: the database does not answer',
      'no connection to listen for changes; trying again',
      'listening for changes by other processes again',
      'changes by other processes are noticed again',
    ]);
  });

  it('is noticed also when the connection just stays silent', async () => {
    const proxy = new SilentProxy(new URL(fixture.test.connectionString));
    const db = through(await proxy.listen());
    const { feed, clients } = fixture.feedOf({ db, pollMs: 100 });
    const seen = counter();
    feed.on('push_topics', seen.listener);
    await feed.start();
    proxy.silence();
    await fixture.blockTopic();
    await seen.reaches(2);
    expect(clients).toHaveLength(2);
    await feed.stop();
    await db.close();
    await proxy.close();
  });
});
