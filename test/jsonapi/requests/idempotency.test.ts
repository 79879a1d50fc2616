import { createHash } from 'node:crypto';
import request from 'supertest';
import { createLibrary, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('idempotency_keys').del();
  await api.knex('books').del();
  await api.knex('shelves').del();
});
afterAll(() => api.close());

const shelf = (name: string) => ({ data: { type: 'shelves', attributes: { name } } });

function create(key: string, name: string, app = api.app) {
  return request(app).post('/api/v1/shelves').set('Idempotency-Key', key).send(shelf(name));
}

function shownOf({ status, text, headers }: request.Response) {
  const { location, etag, 'content-type': type } = headers;
  return { status, text, location, etag, type };
}

const count = async (table: string) => (await api.knex(table)).length;

describe('an Idempotency-Key', () => {
  it.each(['', 'a b', '\u00e4', 'x'.repeat(256)])('that is %p is refused with 400', async (key) => {
    const refused = await create(key, 'a');
    expect([refused.status, refused.body.errors[0].source]).toEqual([
      400,
      { header: 'Idempotency-Key' },
    ]);
    expect(await count('shelves')).toBe(0);
  });

  it('repeated with the same request gets the stored response, byte for byte', async () => {
    const first = await create('k-1', 'a');
    expect(first.status).toBe(201);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    expect(first.headers.etag).toMatch(/^W\/"[\w-]{22}\.[\w-]{22}"$/);
    await api.knex('shelves').update({ name: 'changed meanwhile' });
    const again = await create('k-1', 'a', api.other);
    expect(shownOf(again)).toEqual(shownOf(first));
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect([await count('shelves'), await count('idempotency_keys')]).toEqual([1, 1]);
    const lines = await api.knex('audit_events').where({ target_id: String(first.body.data.id) });
    expect(lines).toHaveLength(1);
  });

  it('stores no digest that a body could be guessed from', async () => {
    await create('k-1', 'a');
    const sha256 = (...parts: (string | Buffer)[]) =>
      parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
    const body = JSON.stringify(shelf('a'));
    const { request_digest: stored } = await api.knex('idempotency_keys').first();
    expect(stored).toHaveLength(32);
    expect(stored).not.toEqual(sha256('POST /api/v1/shelves\n', sha256(body)));
  });

  it('with another body, path or method is refused with 422', async () => {
    const { body } = await create('k-1', 'a');
    const path = `/api/v1/shelves/${body.data.id}`;
    const others = [
      create('k-1', 'b'),
      request(api.app)
        .post('/api/v1/shelves?include=books')
        .set('Idempotency-Key', 'k-1')
        .send(shelf('a')),
      request(api.app).patch(path).set('Idempotency-Key', 'k-1').send(shelf('a')),
      request(api.app).delete(path).set('Idempotency-Key', 'k-1'),
    ];
    for (const other of others) {
      const { status, body: refused } = await other;
      expect([status, refused.errors[0]]).toMatchObject([
        422,
        { code: 'idempotency_key_reused', source: { header: 'Idempotency-Key' } },
      ]);
    }
    expect(await count('shelves')).toBe(1);
  });

  it('belongs to one actor in one role', async () => {
    const first = await create('k-1', 'a');
    const other = await create('k-1', 'b').set('X-Actor', 'somebody else');
    const operator = await create('k-1', 'c').set('X-Role', 'operator');
    expect([first, other, operator].map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await create('k-1', 'a').set('X-Role', 'viewer')).status).toBe(403);
  });

  it('can be used again after a failed write', async () => {
    await insertOne(api, 'shelves', { name: 'a' });
    const failed = await create('k-1', 'a');
    expect([failed.status, failed.body.errors[0].code]).toEqual([409, 'already_exists']);
    expect(await count('idempotency_keys')).toBe(0);
    await api.knex('shelves').del();
    const retried = await create('k-1', 'a');
    expect([retried.status, retried.headers['idempotency-replayed']]).toEqual([201, undefined]);
  });

  it('works on updates, deletes and relationships', async () => {
    const id = await insertOne(api, 'shelves', { name: 'a' });
    const path = `/api/v1/shelves/${id}`;
    const document = { data: { type: 'shelves', attributes: { capacity: 7 } } };
    const patch = () => request(api.app).patch(path).set('Idempotency-Key', 'p').send(document);
    const patched = await patch();
    await api.knex('shelves').update({ capacity: 9 });
    expect(shownOf(await patch())).toEqual(shownOf(patched));
    expect((await api.knex('shelves').first()).capacity).toBe(9);

    const book = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const link = () =>
      request(api.app)
        .post(`${path}/relationships/books`)
        .set('Idempotency-Key', 'r')
        .send({ data: [{ type: 'books', id: book }] });
    const linked = await link();
    await api.knex('books').update({ shelf_id: null });
    expect(shownOf(await link())).toEqual(shownOf(linked));
    expect((await api.knex('books').first()).shelf_id).toBeNull();

    const remove = () => request(api.app).delete(path).set('Idempotency-Key', 'd');
    const removed = await remove();
    const again = await remove();
    expect([removed.status, again.status, again.text]).toEqual([204, 204, '']);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  it('runs once when two processes get the request at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = `race-${round}`;
      const answers = await Promise.all(
        [api.app, api.other, api.app, api.other].map((app) => create(key, key, app)),
      );
      const [first] = answers;
      for (const answer of answers) {
        expect([answer.status, answer.text]).toEqual([201, first?.text]);
      }
      const replayed = answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true');
      expect(replayed).toHaveLength(3);
    }
    expect(await count('shelves')).toBe(10);
  });

  it('runs again in the second process when the first one fails', async () => {
    const { knex } = api;
    const trx = await knex.transaction();
    await trx('shelves').insert({ name: 'a' });
    const first = create('k-1', 'a').then(shownOf);
    const second = create('k-1', 'a', api.other).then(shownOf);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await trx.commit();
    expect([await first, await second].map(({ status }) => status)).toEqual([409, 409]);
    expect(await count('idempotency_keys')).toBe(0);
  });

  it('expires after a day', async () => {
    const day = api.knex.raw("now() - interval '24 hours 1 second'");
    const first = await create('k-1', 'a');
    await api.knex('idempotency_keys').update({ created_at: day });
    await api.knex('shelves').del();
    const again = await create('k-1', 'other');
    expect(again.status).toBe(201);
    expect(again.body.data.id).not.toBe(first.body.data.id);
  });

  it('is ignored by reads', async () => {
    const read = await request(api.app).get('/api/v1/shelves').set('Idempotency-Key', 'a b');
    expect(read.status).toBe(200);
  });
});
