import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type pg from 'pg';
import { startApp, type TestApp } from '../helpers/app.js';
import { breakConnections } from '../helpers/outage.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

/** All connections that requests use are taken, as when many devices come at once. */
async function occupyConnections() {
  const { pool, knex } = app.db;
  const clients: pg.PoolClient[] = [];
  while (clients.length < pool.options.max) clients.push(await pool.connect());
  const transactions: Knex.Transaction[] = [];
  const most = Number(knex.client.pool.max);
  while (transactions.length < most) transactions.push(await knex.transaction());
  return async () => {
    for (const client of clients) client.release();
    for (const trx of transactions) await trx.rollback();
  };
}

/** What is set counts for new connections only. */
async function setForDatabase(setting: string): Promise<void> {
  await app.db.background.query(
    `begin read write;
     do $$ begin execute format('alter database %I ${setting}', current_database()); end $$;
     commit`,
  );
  await breakConnections(app.database);
}

/** The answer, once it is not one of a second ago. */
async function readyz(): Promise<{ status: number; body: Record<string, unknown> }> {
  await sleep(1_100);
  const reply = await fetch(`${app.url}/readyz`);
  return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
}

describe('GET /readyz', () => {
  it('is 503 with the reason while the database is read-only, and 200 afterwards', async () => {
    await setForDatabase('set default_transaction_read_only = on');
    const { status, body } = await readyz();
    expect([status, body]).toEqual([
      503,
      {
        status: 'not ready',
        checks: {
          database: 'ok',
          writes: 'failed',
          migrations: 'ok',
          certificate_authority: 'ok',
        },
        reasons: {
          writes: 'The database is read-only: free its disk, or point DATABASE_URL to the primary',
        },
      },
    ]);
    await setForDatabase('reset default_transaction_read_only');
    expect(await readyz()).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  it('is 503 with the reason while the disk of the database is full', async () => {
    await app.db.knex.raw(`
      create schema full_disk;
      create function full_disk.pg_logical_emit_message(boolean, text, text) returns void
      language plpgsql as $$ begin
        raise exception 'could not extend file: No space left on device' using errcode = '53100';
      end $$`);
    await setForDatabase('set search_path = full_disk, public, pg_catalog');
    const { status, body } = await readyz();
    expect(status).toBe(503);
    expect(body.reasons).toEqual({
      writes: 'The disk of the database is full: free space there, and Muster continues by itself',
    });
    await setForDatabase('reset search_path');
    expect((await readyz()).status).toBe(200);
  });

  it('is 200 while a write takes long, as under load', async () => {
    const blocker = app.db.createClient();
    await blocker.connect();
    await blocker.query('begin; lock table change_topics in access exclusive mode');
    expect((await readyz()).status).toBe(200);
    await blocker.query('rollback');
    await blocker.end();
    expect((await readyz()).status).toBe(200);
  });

  it('writes four megabytes to the disk of the database', async () => {
    const written = async () => {
      const text = `select temp_bytes from pg_stat_database where datname = current_database()`;
      const { rows } = await app.db.pool.query<{ temp_bytes: number }>(text);
      return rows[0]?.temp_bytes ?? 0;
    };
    const before = await written();
    await readyz();
    for (let wait = 0; wait < 200 && (await written()) === before; wait += 1) await sleep(100);
    expect((await written()) - before).toBeGreaterThanOrEqual(4 * 1024 * 1024);
  });

  it('writes once a second at most, however often it is asked', async () => {
    await readyz();
    const query = jest.spyOn(app.db.background, 'query');
    await Promise.all(Array.from({ length: 20 }, () => fetch(`${app.url}/readyz`)));
    const probes = query.mock.calls.filter(([text]) => String(text).includes('emit_message'));
    expect(probes.length).toBeLessThanOrEqual(1);
    query.mockRestore();
  });

  it('does not wait behind the requests of devices and admins', async () => {
    const release = await occupyConnections();
    const waiting = app.db.pool.query('select 1');
    const reply = await fetch(`${app.url}/readyz`);
    expect(reply.status).toBe(200);
    expect(app.db.pool.waitingCount).toBe(1);
    await release();
    await waiting;
  });
});
