import { get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import request from 'supertest';
import { createToken } from '../../src/auth/api-tokens.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { createTestDatabase } from '../helpers/database.js';

const TIMEOUT_MS = 2_000;

let app: TestApp;
let viewer: string;
let tag: number;
beforeAll(async () => {
  app = await startApp({ database: await createTestDatabase({ listTimeoutMs: TIMEOUT_MS }) });
  const actor = { name: 'tests', role: 'admin' as const };
  const context = { requestId: 'x', actor, sourceAddress: null };
  const made = await createToken(app.db, { name: 'curious', role: 'viewer' }, context);
  viewer = made.token;
  const { knex } = app.db;
  await knex.raw(
    'insert into tags (name) select repeat(md5(n::text), 45) from generate_series(1, 40000) n',
  );
  tag = Number((await knex('tags').min('id as id').first())?.id);
});
afterAll(() => app.stop());

const RULES = 45;

let lists = 0;

/** Rules of which none matches, so that each is tried on each row. No two lists are equal: those share a page. */
function costly(): string {
  lists += 1;
  const rules = Array.from({ length: RULES }, (_, n) => ({
    name: 'name',
    op: 'ilike',
    val: `%zz${lists}-${n}%`,
  }));
  const filter = encodeURIComponent(JSON.stringify([{ or: rules }]));
  return `/api/v1/tags?filter=${filter}&sort=-name`;
}

function ask(path: string, token: string) {
  return request(app.url).get(path).set('Authorization', `Bearer ${token}`);
}

async function running(): Promise<number> {
  const { rows } = await app.db.pool.query(
    "select 1 from pg_stat_activity where state = 'active' and query ilike '%from \"tags\"%' " +
      'and datname = current_database() and pid <> pg_backend_pid()',
  );
  return rows.length;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    if (await condition()) return;
    await sleep(10);
  }
  throw new Error('the condition was not met in time');
}

async function timed<T>(work: () => PromiseLike<T>): Promise<[T, number]> {
  const started = performance.now();
  return [await work(), performance.now() - started];
}

describe('ten costly lists of one token', () => {
  it('end with an error, and do not delay other clients', async () => {
    const asked = Promise.all(Array.from({ length: 10 }, () => ask(costly(), viewer)));
    await until(async () => (await running()) > 1);

    const [list, listMs] = await timed(() => ask('/api/v1/tags?page[size]=1', ADMIN_TOKEN));
    const [item, itemMs] = await timed(() => ask(`/api/v1/tags/${tag}`, ADMIN_TOKEN));
    const data = { type: 'tags', attributes: { color: '123456' } };
    const [write, writeMs] = await timed(() =>
      request(app.url)
        .patch(`/api/v1/tags/${tag}`)
        .set('Authorization', `Bearer ${ADMIN_TOKEN}`)
        .send({ data }),
    );
    expect([list.status, item.status, write.status]).toEqual([200, 200, 200]);
    for (const ms of [listMs, itemMs, writeMs]) expect(ms).toBeLessThan(TIMEOUT_MS);

    const answers = await asked;
    const codes = answers.map(({ body }) => body.errors?.[0]?.code);
    expect(new Set(codes)).toEqual(new Set(['query_too_expensive', 'too_many_requests']));
    for (const { status, body, headers } of answers) {
      const [{ code, detail, source }] = body.errors;
      if (code === 'too_many_requests') {
        expect([status, headers['retry-after']]).toEqual([429, '5']);
        continue;
      }
      expect([status, source]).toEqual([400, { parameter: 'filter' }]);
      expect(detail).toContain('replace the search inside name by eq, in_ or startswith');
      expect(detail).toContain('leave out sort=name');
    }
  }, 60_000);

  it('are cancelled in the database when their clients disconnect, including those that wait', async () => {
    const headers = { Authorization: `Bearer ${viewer}` };
    const clients = Array.from({ length: 6 }, () => {
      const client = get(app.url + costly(), { headers });
      client.on('error', () => undefined);
      return client;
    });
    await until(async () => (await running()) > 1);
    const left = performance.now();
    for (const client of clients) client.destroy();
    await until(async () => (await running()) === 0);
    expect(performance.now() - left).toBeLessThan(TIMEOUT_MS / 2);
    // What waited would run by now.
    await sleep(100);
    expect(await running()).toBe(0);
    expect((await ask('/api/v1/tags?page[size]=1', viewer)).status).toBe(200);
  });

  it('are not started for clients that disconnect while their token is checked', async () => {
    const { hostname, port } = new URL(app.url);
    const head = `GET ${costly()} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${viewer}\r\n\r\n`;
    const sent = Array.from({ length: 4 }, async () => {
      const socket = connect(Number(port), hostname);
      await new Promise((resolve) => socket.write(head, resolve));
      socket.resetAndDestroy();
    });
    await Promise.all(sent);
    await sleep(300);
    expect(await running()).toBe(0);
  });

  it('are shown by the metrics', async () => {
    const asked = Promise.all(Array.from({ length: 3 }, () => ask(costly(), viewer)));
    await until(async () => (await running()) > 1);
    const { text } = await ask('/metrics', ADMIN_TOKEN);
    expect(text).toMatch(/muster_database_pool_connections\{pool="list",state="used"\} [1-5]/);
    expect(text).toMatch(/muster_database_pool_waiting\{pool="list"\} \d/);
    await asked;
  });
});
