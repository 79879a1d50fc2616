import request from 'supertest';
import { createRegistry, defineResource } from '../../../src/jsonapi/definition/definition.js';
import { createLibrary, insert, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('books').del();
  await api.knex('shelves').del();
  await api.knex('keywords').del();
});
afterAll(() => api.close());

type Verb = 'get' | 'post' | 'patch' | 'delete';

const send = (verb: Verb, path: string, data?: unknown) =>
  request(api.app)
    [verb](`/api/v1${path}`)
    .send(data === undefined ? undefined : { data });

const identifiers = (type: string, ids: number[]) => ids.map((id) => ({ type, id }));

const novels = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ title: `t${index}`, kind: 'novel' }));

/** The shelf of each book. */
async function places(): Promise<Record<number, number | null>> {
  const rows = await api.knex('books').select('id', 'shelf_id');
  return Object.fromEntries(rows.map(({ id, shelf_id }) => [id, shelf_id]));
}

describe('a to-many relationship over a foreign key', () => {
  let shelf: number;
  let other: number;
  let books: number[];
  beforeEach(async () => {
    [shelf, other] = (await insert(api, 'shelves', [{ name: 'a' }, { name: 'b' }])) as [
      number,
      number,
    ];
    books = await insert(api, 'books', novels(3));
  });

  it('moves rows from their former owner with POST, in one statement', async () => {
    const [one, two, three] = books as [number, number, number];
    await api.knex('books').where({ id: two }).update({ shelf_id: other });
    const path = `/shelves/${shelf}/relationships/books`;
    const { result, sql } = await api.statements(() =>
      send('post', path, identifiers('books', [one, two])),
    );
    expect([result.status, result.body]).toEqual([
      200,
      {
        links: { self: `/api/v1${path}`, related: `/api/v1/shelves/${shelf}/books` },
        data: identifiers('books', [one, two]),
        jsonapi: { version: '1.0' },
      },
    ]);
    expect(sql.filter((text) => text.startsWith('update "books"'))).toHaveLength(1);
    expect(await places()).toEqual({ [one]: shelf, [two]: shelf, [three]: null });
  });

  it('unlinks with DELETE only its own rows, and with PATCH all but the named', async () => {
    const [one, two, three] = books as [number, number, number];
    await api.knex('books').update({ shelf_id: shelf });
    await api.knex('books').where({ id: three }).update({ shelf_id: other });
    const path = `/shelves/${shelf}/relationships/books`;
    await send('delete', path, identifiers('books', [one, three]));
    expect(await places()).toEqual({ [one]: null, [two]: shelf, [three]: other });
    const replaced = await send('patch', path, identifiers('books', [three]));
    expect(replaced.body.data).toEqual(identifiers('books', [three]));
    expect(await places()).toEqual({ [one]: null, [two]: null, [three]: shelf });
    expect((await send('patch', path, [])).body.data).toEqual([]);
  });

  it('does not unlink rows that it does not show', async () => {
    const atlas = await insertOne(api, 'books', { title: 'a', kind: 'atlas', shelf_id: shelf });
    const path = `/shelves/${shelf}/relationships/books`;
    expect((await send('get', path)).body.data).toEqual([]);
    await send('patch', path, []);
    await send('delete', path, identifiers('books', [atlas]));
    expect((await places())[atlas]).toBe(shelf);
  });

  it('is written by documents, too', async () => {
    const [one] = books as [number];
    const attributes = { name: 'new' };
    const relationships = { books: { data: identifiers('books', [one]) } };
    const created = await send('post', '/shelves', { type: 'shelves', attributes, relationships });
    expect((await places())[one]).toBe(created.body.data.id);
    const path = `/shelves/${created.body.data.id}`;
    await send('patch', path, { type: 'shelves', relationships: { books: { data: [] } } });
    expect((await places())[one]).toBeNull();
  });

  it('needs the role to change the related rows', async () => {
    const data = identifiers('books', books);
    const path = `/shelves/${shelf}`;
    const linked = await send('post', `${path}/relationships/books`, data).set(
      'X-Role',
      'operator',
    );
    expect([linked.status, linked.body.errors[0].code]).toEqual([403, 'forbidden']);
    const document = { type: 'shelves', relationships: { books: { data } } };
    const written = await send('patch', path, document).set('X-Role', 'operator');
    expect([written.status, written.body.errors[0].source]).toEqual([
      403,
      { pointer: '/data/relationships/books' },
    ]);
    expect(Object.values(await places())).toEqual([null, null, null]);
  });

  it('moves rows that two owners request at once without a deadlock', async () => {
    const ids = await insert(api, 'books', novels(300));
    const replace = (owner: number, list: number[]) =>
      send('post', `/shelves/${owner}/relationships/books`, identifiers('books', list));
    for (let round = 0; round < 20; round += 1) {
      const answers = await Promise.all([replace(shelf, ids), replace(other, [...ids].reverse())]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
    const [{ deadlocks }] = await api
      .knex('pg_stat_database')
      .whereRaw('datname = current_database()')
      .select('deadlocks');
    expect(Number(deadlocks)).toBe(0);
    const owners = new Set(Object.values(await places()));
    expect(owners.size).toBe(2);
    expect(owners).toContain(null);
  });

  it('refuses to leave a row without its required owner', async () => {
    const [book = 0, second = 0] = books;
    const [page = 0] = await insert(api, 'pages', [{ number: 1, book_id: book }]);
    const path = `/books/${book}/relationships/pages`;
    for (const [verb, data] of [
      ['delete', identifiers('pages', [page])],
      ['patch', []],
    ] as [Verb, object][]) {
      const refused = await send(verb, path, data);
      expect([refused.status, refused.body.errors[0]]).toMatchObject([
        409,
        {
          code: 'conflict',
          detail: `pages ${page} can't be without one of books; delete it, or move it to another`,
          source: { pointer: '/data' },
        },
      ]);
    }
    expect((await send('patch', path, identifiers('pages', [page]))).status).toBe(200);
    const moved = await send(
      'post',
      `/books/${second}/relationships/pages`,
      identifiers('pages', [page]),
    );
    expect(moved.body.data).toEqual(identifiers('pages', [page]));
    expect((await send('get', path)).body.data).toEqual([]);
    expect((await send('delete', path, identifiers('pages', [page]))).status).toBe(200);
  });

  it('needs an inverse relationship that may change', () => {
    const access = { read: 'viewer', create: null, update: null, delete: null } as const;
    const one = defineResource({
      type: 'ones',
      path: '/ones',
      table: 'ones',
      access,
      attributes: {},
      relationships: {
        others: {
          kind: 'toMany',
          type: 'others',
          via: { foreignKey: 'one_id' },
          write: 'endpoint',
        },
      },
    });
    const others = defineResource({
      type: 'others',
      path: '/others',
      table: 'others',
      access,
      attributes: {},
      relationships: { one: { kind: 'toOne', type: 'ones', column: 'one_id', write: 'create' } },
    });
    expect(() => createRegistry([one, others])).toThrow(
      "the one of others can't be changed from its other side",
    );
  });
});

describe('a to-one relationship', () => {
  it('is set, moved and cleared by its own path', async () => {
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const book = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const path = `/books/${book}/relationships/shelf`;
    const set = await send('patch', path, { type: 'shelves', id: String(shelf) });
    expect([set.status, set.body]).toEqual([
      200,
      {
        links: { self: `/api/v1${path}`, related: `/api/v1/shelves/${shelf}` },
        data: { type: 'shelves', id: shelf },
        jsonapi: { version: '1.0' },
      },
    ]);
    const line = await api.knex('audit_events').orderBy('id', 'desc').first();
    expect(line).toMatchObject({
      action: 'books.update',
      target_id: String(book),
      details: { changes: { shelf: [null, shelf] } },
    });
    const cleared = await send('patch', path, null);
    expect([cleared.status, cleared.body.data]).toEqual([200, null]);
    expect(await places()).toEqual({ [book]: null });
  });

  it("refuses what it can't point to", async () => {
    const book = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const [page = 0] = await insert(api, 'pages', [{ number: 1, book_id: book }]);
    const path = `/books/${book}/relationships/shelf`;
    const missing = await send('patch', path, { type: 'shelves', id: 987654 });
    expect([missing.status, missing.body.errors[0]]).toMatchObject([
      404,
      { detail: 'shelves 987654 does not exist', source: { pointer: '/data' } },
    ]);
    const wrong = await send('patch', path, { type: 'books', id: book });
    expect([wrong.status, wrong.body.errors[0].source]).toEqual([409, { pointer: '/data/type' }]);
    const many = await send('patch', path, []);
    expect([many.status, many.body.errors[0].source]).toEqual([422, { pointer: '/data' }]);
    const required = await send('patch', `/pages/${page}/relationships/book`, null);
    expect([required.status, required.body.errors[0].source]).toEqual([422, { pointer: '/data' }]);
    expect((await send('patch', '/books/987654/relationships/shelf', null)).status).toBe(404);
    const operator = await send('patch', path, null).set('X-Role', 'operator');
    expect(operator.status).toBe(403);
    const post = await send('post', path, null);
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, PATCH, HEAD, OPTIONS']);
  });
});

describe('a relationship with more identifiers than one page', () => {
  it('is read in pages of up to 1000 with links to the next and the previous one', async () => {
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const rows = novels(1001).map((row) => ({ ...row, shelf_id: shelf }));
    const ids = await insert(api, 'books', rows);
    const path = `/shelves/${shelf}/relationships/books`;
    const first = await send('get', path);
    expect(first.body.data).toEqual(identifiers('books', ids.slice(0, 1000)));
    expect(first.body.links).toEqual({
      self: `/api/v1${path}`,
      related: `/api/v1/shelves/${shelf}/books`,
      next: `/api/v1${path}?page%5Bsize%5D=1000&page%5Bnumber%5D=2`,
    });
    const second = await request(api.app).get(first.body.links.next);
    expect(second.body.data).toEqual(identifiers('books', ids.slice(1000)));
    expect(second.body.links.prev).toBe(`/api/v1${path}?page%5Bsize%5D=1000&page%5Bnumber%5D=1`);
    expect(second.body.links.next).toBeUndefined();
    const small = await send('get', `${path}?page[size]=2&page[number]=3`);
    expect(small.body.data).toEqual(identifiers('books', ids.slice(4, 6)));
    expect(small.body.links.self).toBe(`/api/v1${path}?page%5Bsize%5D=2&page%5Bnumber%5D=3`);
    expect(small.body.links.related).toBe(`/api/v1/shelves/${shelf}/books`);
  });

  it('has a total, counted in one statement if the page does not imply it', async () => {
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const rows = novels(5).map((row) => ({ ...row, shelf_id: shelf }));
    const ids = await insert(api, 'books', rows);
    await insertOne(api, 'books', { title: 'hidden', kind: 'atlas', shelf_id: shelf });
    const keyword = await insertOne(api, 'keywords', { name: 'a' });
    await api
      .knex('book_keywords')
      .insert(ids.map((book_id) => ({ book_id, keyword_id: keyword })));
    for (const path of [`/shelves/${shelf}`, `/keywords/${keyword}`]) {
      const ask = async (query: string) => {
        const { result, sql } = await api.statements(() =>
          send('get', `${path}/relationships/books${query}`),
        );
        return [result.body.meta, sql.filter((text) => text.includes('count(*)')).length];
      };
      expect(await ask('')).toEqual([{ count: 5, total: 5 }, 0]);
      expect(await ask('?page[size]=2')).toEqual([{ count: 2, total: 5 }, 1]);
      expect(await ask('?page[size]=2&page[number]=3')).toEqual([{ count: 1, total: 5 }, 0]);
      expect(await ask('?page[size]=2&page[number]=9')).toEqual([{ count: 0, total: 5 }, 1]);
    }
  });

  it.each([
    'page[size]=1001',
    'page[size]=0',
    'page[number]=x',
    'page[number]=1&page[number]=2',
    'sort=id',
  ])('refuses ?%s', async (query) => {
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const refused = await send('get', `/shelves/${shelf}/relationships/books?${query}`);
    expect([refused.status, refused.body.errors[0].code]).toEqual([400, 'invalid_parameter']);
  });

  it('is never read whole for a change', async () => {
    const keyword = await insertOne(api, 'keywords', { name: 'a' });
    const ids = await insert(api, 'books', novels(1200));
    const links = ids.map((book_id) => ({ book_id, keyword_id: keyword }));
    await api.knex.batchInsert('book_keywords', links);
    const [one = 0, two = 0] = ids;
    const path = `/keywords/${keyword}/relationships/books`;
    for (const verb of ['post', 'delete', 'patch'] as const) {
      const { sql } = await api.statements(() =>
        send(verb, path, identifiers('books', [one, two])),
      );
      const reads = sql.filter((text) => /^select .*from "book_keywords"/.test(text));
      expect(reads).toEqual([expect.stringContaining('limit')]);
    }
    expect(await api.knex('book_keywords').orderBy('book_id').pluck('book_id')).toEqual([one, two]);
  });

  it('points at the first occurrence of each identifier that does not exist', async () => {
    const keyword = await insertOne(api, 'keywords', { name: 'a' });
    const [one = 0] = await insert(api, 'books', novels(1));
    const data = [
      ...identifiers('books', [one, one, 987654]),
      { type: 'books', id: '987655' },
      ...identifiers('books', [987654]),
    ];
    const missing = [
      { code: 'not_found', detail: 'books 987654 does not exist' },
      { code: 'not_found', detail: 'books 987655 does not exist' },
    ];
    const missingAt = (at: string) =>
      missing.map((fault, index) => ({ ...fault, source: { pointer: `${at}/${index + 2}` } }));
    for (const verb of ['post', 'patch', 'delete'] as const) {
      const refused = await send(verb, `/keywords/${keyword}/relationships/books`, data);
      expect([refused.status, refused.body.errors]).toMatchObject([404, missingAt('/data')]);
    }
    const relationships = { books: { data } };
    const at = '/data/relationships/books/data';
    const document = { type: 'shelves', attributes: { name: 'new' }, relationships };
    const created = await send('post', '/shelves', document);
    expect([created.status, created.body.errors]).toMatchObject([404, missingAt(at)]);
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const changed = await send('patch', `/shelves/${shelf}`, {
      type: 'shelves',
      attributes: { nonsense: 1 },
      relationships,
    });
    const stray = { source: { pointer: '/data/attributes/nonsense' } };
    expect([changed.status, changed.body.errors]).toMatchObject([422, [stray, ...missingAt(at)]]);
  });

  it('accepts 1000 identifiers in one statement and refuses more', async () => {
    const keyword = await insertOne(api, 'keywords', { name: 'a' });
    const ids = await insert(api, 'books', novels(1000));
    const path = `/keywords/${keyword}/relationships/books`;
    const { result, sql } = await api.statements(() =>
      send('post', path, identifiers('books', ids)),
    );
    expect([result.status, result.body.data.length]).toEqual([200, 1000]);
    expect(sql.filter((text) => text.startsWith('insert into "book_keywords"'))).toHaveLength(1);
    const refused = await send('post', path, identifiers('books', [...ids, 1]));
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      422,
      { detail: 'expected an array of up to 1000 identifiers', source: { pointer: '/data' } },
    ]);
  });
});

describe('a collection below a parent', () => {
  it('over a join table needs the role to change the parent as well', async () => {
    const keyword = await insertOne(api, 'keywords', { name: 'a' });
    const book = { type: 'books', attributes: { title: 'a', kind: 'novel' } };
    const created = await send('post', `/keywords/${keyword}/books`, book).set(
      'X-Role',
      'operator',
    );
    expect([created.status, created.body.meta]).toEqual([201, { count: 1 }]);
    const [{ id }] = created.body.data;
    const below = await send('post', `/books/${id}/keywords`, {
      type: 'keywords',
      attributes: { name: 'b' },
    }).set('X-Role', 'operator');
    expect(below.status).toBe(403);
  });
});
