import type { Knex } from 'knex';
import type pg from 'pg';
import { startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

/** All connections that requests use are taken, as when many devices come at once. */
async function takeConnections() {
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

describe('GET /readyz', () => {
  it('does not wait behind the requests of devices and admins', async () => {
    const release = await takeConnections();
    const waiting = app.db.pool.query('select 1');
    const reply = await fetch(`${app.url}/readyz`);
    expect(reply.status).toBe(200);
    expect(app.db.pool.waitingCount).toBe(1);
    await release();
    await waiting;
  });
});
