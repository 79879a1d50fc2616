import { createServer, type Server, type Socket } from 'node:net';
import { types } from 'node:util';
import pg from 'pg';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { isOutage } from '../../../src/db/connection/outage.js';
import { toAppError } from '../../../src/db/connection/sqlstate.js';
import type { Transaction } from '../../../src/db/connection/unit-of-work.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { breakConnections, duringOutage } from '../../helpers/outage.js';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

function failed(properties: object, message = 'some words'): Error {
  return Object.assign(new Error(message), properties);
}

async function failureOf(statement: PromiseLike<unknown>): Promise<Error> {
  const outcome = await statement.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (types.isNativeError(outcome)) return outcome;
  throw new Error(`it did not fail: ${outcome}`);
}

describe('no outage', () => {
  it.each(['22P02', '23505', '25P02', '40001', '42P01', '42501', '55P03', '58030', 'XX000'])(
    'is SQLSTATE %s',
    (code) => {
      expect(isOutage(failed({ code, severity: 'ERROR' }))).toBe(false);
    },
  );

  it.each([
    ['a missing file', { code: 'ENOENT', syscall: 'open' }],
    ['a full disk of ours', { code: 'ENOSPC', syscall: 'write' }],
    ['a forbidden directory', { code: 'EACCES', syscall: 'mkdir' }],
    ['a fault of the program', { name: 'TypeError', message: 'x is not iterable' }],
    ['a timeout of something else', { message: 'a timeout was asked for' }],
    ['a transaction used after its end', { message: 'Transaction query already complete' }],
  ])('is %s', (_what, properties) => {
    expect(isOutage(failed(properties))).toBe(false);
  });

  it.each(['Connection terminated unexpectedly', undefined, { code: '57P01' }])(
    'is what is no error: %j',
    (thrown) => {
      expect(isOutage(thrown)).toBe(false);
    },
  );

  it('is found in the values of a statement that failed for another reason', () => {
    const values = `insert into "tags" ("name") values ('x - Connection terminated')`;
    expect(isOutage(new Error(`${values} - some words`))).toBe(false);
    expect(isOutage(new Error(`set local statement_timeout = '1s' - some words`))).toBe(false);
    expect(isOutage(failed({ code: '42601' }, `${values} - Query read timeout`))).toBe(false);
  });
});

describe('an outage', () => {
  it.each([
    '08000',
    '08003',
    '08006',
    '08P01',
    '25006',
    '25P03',
    '25P04',
    '28000',
    '28P01',
    '3D000',
    '40003',
    '53100',
    '53200',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '57P04',
    '57P05',
  ])('is SQLSTATE %s', (code) => {
    expect(isOutage(failed({ code, severity: 'ERROR' }))).toBe(true);
  });

  it.each(['FATAL', 'PANIC'])('includes what PostgreSQL calls %s', (severity) => {
    expect(isOutage(failed({ code: '55000', severity }))).toBe(true);
  });

  it.each([
    'ECONNABORTED',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'EPROTO',
    'ETIMEDOUT',
    'EAI_AGAIN',
    'ENOTFOUND',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EMFILE',
    'ERR_STREAM_DESTROYED',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('is the code %s', (code) => {
    expect(isOutage(failed({ code }))).toBe(true);
  });

  it('is any failure to connect', () => {
    expect(isOutage(failed({ code: 'ENOENT', syscall: 'connect' }))).toBe(true);
    expect(isOutage(failed({ code: 'EANYTHING', syscall: 'getaddrinfo' }))).toBe(true);
  });

  it.each([
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Query read timeout',
    'Received unexpected commandComplete message from backend.',
    'received invalid response: 48',
    'timeout expired',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end on the pool',
    'Unable to acquire a connection',
    'The server does not support SSL connections',
    'There was an error establishing an SSL connection',
    'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
    'aborted',
  ])('is "%s", also after a statement', (words) => {
    expect(isOutage(new Error(words))).toBe(true);
    if (words.startsWith('SASL')) return;
    expect(isOutage(new Error(`select 1 - ${words}`))).toBe(true);
    expect(isOutage(new Error(`ROLLBACK - select\n1 - ${words}`))).toBe(true);
  });
});

/** Answers every connection with these bytes, or not at all. */
async function listening(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { settings: { host: '127.0.0.1', port: address.port, user: 'u', password: 'p' }, close };
}

/** Provokes each error of the drivers in this version. */
describe('a real outage', () => {
  const opened: Database[] = [];
  const own = () => {
    const db = connectDatabase({ connectionString: test.connectionString, poolSize: 1 });
    opened.push(db);
    return db;
  };

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((db) => db.close()));
  });

  /** Ended in any case: the pool waits for it when it is closed. */
  async function inOpenTransaction(db: Database, work: (trx: Transaction) => Promise<void>) {
    const trx = await db.knex.transaction();
    try {
      await work(trx);
    } finally {
      await trx.rollback().catch(() => undefined);
    }
  }

  function expectOutage(error: Error, message: RegExp): void {
    expect(error.message).toMatch(message);
    expect(toAppError(error)).toMatchObject({
      code: 'unavailable',
      status: 503,
      message: 'The database is not available',
      headers: { 'Retry-After': '1' },
    });
  }

  it('is the end of the connection in the middle of a statement', async () => {
    const db = own();
    const statements = [db.pool.query('select pg_sleep(30)'), db.knex.raw('select pg_sleep(30)')];
    const failures = statements.map(failureOf);
    const sleeping = `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and query like 'select pg_sleep%'`;
    while ((await test.db.pool.query(sleeping)).rows[0].n < 2);
    await breakConnections(test);
    for (const failure of failures) {
      expectOutage(await failure, /terminating connection due to administrator command$/);
    }
  });

  it('is every later error of the connection', async () => {
    await inOpenTransaction(own(), async (trx) => {
      await trx.raw('select 1');
      await breakConnections(test);
      await failureOf(trx.raw('select 1'));
      // Whichever comes first: the statement's error, or that of the connection.
      const gone = / - (Client has .* is not queryable|Connection terminated unexpectedly)$/;
      expectOutage(await failureOf(trx.raw('select 2')), gone);
      const committed = trx.commit().then(() => trx.executionPromise);
      expectOutage(await failureOf(committed), /^COMMIT; - Client has .* is not queryable$/);
    });
  });

  it('is a database that refuses connections', async () => {
    const db = own();
    await duringOutage(test, async () => {
      const words = /not currently accepting connections$/;
      expectOutage(await failureOf(db.pool.query('select 1')), words);
      expectOutage(await failureOf(db.knex.raw('select 1')), words);
    });
  });

  it('is every statement on closed connections', async () => {
    const db = own();
    const client = db.createClient();
    await client.connect();
    await client.end();
    expectOutage(await failureOf(client.query('select 1')), /^Client was closed/);
    await db.close();
    expectOutage(await failureOf(db.pool.query('select 1')), /^Cannot use a pool/);
    expectOutage(await failureOf(db.knex.raw('select 1')), /^Unable to acquire a connection$/);
  });

  it('is a wait for a connection or a response that took too long', async () => {
    const { connectionString } = test;
    const pool = new pg.Pool({ connectionString, max: 1 });
    const client = await pool.connect();
    // Only the wait: a busy machine takes longer to connect.
    pool.options.connectionTimeoutMillis = 50;
    expectOutage(await failureOf(pool.query('select 1')), /^timeout exceeded when trying/);
    const late = { text: 'select pg_sleep(0.2)', query_timeout: 10 };
    expectOutage(await failureOf(client.query(late)), /^Query read timeout$/);
    client.release(true);
    await pool.end();
  });

  it('is a wait for one of the connections of transactions that took too long', async () => {
    const db = own();
    await inOpenTransaction(db, async () => {
      // Only this wait: a busy machine takes longer for the first connection.
      db.knex.client.pool.acquireTimeoutMillis = 50;
      expectOutage(await failureOf(db.knex.raw('select 1')), /^Knex: Timeout acquiring/);
    });
  });

  it('is a server that hangs up, is silent, or has no TLS', async () => {
    const abrupt = await listening((socket) => socket.end());
    expectOutage(await failureOf(new pg.Client(abrupt.settings).connect()), /^Connection term/);
    const silent = await listening(() => undefined);
    const impatient = { ...silent.settings, connectionTimeoutMillis: 50 };
    expectOutage(await failureOf(new pg.Client(impatient).connect()), /^timeout expired$/);
    const pool = new pg.Pool(impatient);
    expectOutage(await failureOf(pool.query('select 1')), /^(timeout expired|Connection term)/);
    const plain = await listening((socket) => socket.on('data', () => socket.write('N')));
    const secure = new pg.Client({ ...plain.settings, ssl: true });
    expectOutage(await failureOf(secure.connect()), /^The server does not support SSL/);
    await pool.end();
    await Promise.all([abrupt, silent, plain].map((server) => server.close()));
  });
});
