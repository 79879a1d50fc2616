import request from 'supertest';
import { createLibrary, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('books').del();
  await api.knex('shelves').del();
});
afterAll(() => api.close());

interface Fault {
  detail: string;
  code: string;
  source: { pointer: string };
}

const post = (path: string, data: object) => request(api.app).post(`/api/v1${path}`).send({ data });
const patch = (path: string, data: object) =>
  request(api.app).patch(`/api/v1${path}`).send({ data });
const faultsOf = (response: request.Response): [string, string][] =>
  response.body.errors.map(({ code, source }: Fault) => [source.pointer, code]);

const book = (attributes: object) => ({ type: 'books', attributes });

describe('a document', () => {
  const broken = {
    type: 'books',
    attributes: { kind: 'essay', position: 0, colour: 'red' },
    relationships: {
      shelf: { data: { type: 'shelves', id: 987654 } },
      keywords: { data: [{ type: 'keywords', id: 987653 }, { type: 'keywords' }] },
      pages: { data: 'written by their own path' },
      owner: { data: null },
    },
  };

  it('is refused with all its faults at once: values, names, missing members and resources', async () => {
    const refused = await post('/books', broken);
    expect(refused.status).toBe(422);
    expect(faultsOf(refused)).toEqual([
      ['/data/attributes/kind', 'validation_failed'],
      ['/data/attributes/position', 'validation_failed'],
      ['/data/attributes/colour', 'validation_failed'],
      ['/data/relationships/keywords/data/1', 'validation_failed'],
      ['/data/relationships/pages', 'validation_failed'],
      ['/data/relationships/owner', 'validation_failed'],
      ['/data/attributes/title', 'validation_failed'],
      ['/data/relationships/shelf/data', 'not_found'],
      ['/data/relationships/keywords/data/0', 'not_found'],
    ]);
  });

  it('is refused with the same faults on an update, where no member is required', async () => {
    const id = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const refused = await patch(`/books/${id}`, broken);
    expect(faultsOf(refused).map(([pointer]) => pointer)).not.toContain('/data/attributes/title');
    expect(faultsOf(refused)).toHaveLength(8);
    expect((await patch('/books/987654', broken)).status).toBe(404);
  });

  it('may repeat its read-only relationships, but not change them', async () => {
    const id = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const [one, two] = [
      await insertOne(api, 'pages', { number: 1, book_id: id }),
      await insertOne(api, 'pages', { number: 2, book_id: id }),
    ];
    const send = (data?: unknown) =>
      patch(`/books/${id}`, {
        type: 'books',
        relationships: {
          pages: { links: { self: '/x' }, data },
        },
      });
    const pages = (ids: number[]) => ids.map((page) => ({ type: 'pages', id: page }));
    for (const same of [undefined, pages([two, one])]) expect((await send(same)).status).toBe(200);
    for (const other of [pages([one]), pages([one, two, 987654]), [], null]) {
      const refused = await send(other);
      expect([refused.status, refused.body.errors[0].source.pointer]).toEqual([
        422,
        expect.stringMatching(/^\/data\/relationships\/pages/),
      ]);
    }
    const created = await post('/books', {
      ...book({ title: 'b', kind: 'novel' }),
      id: null,
      relationships: { pages: { data: [] } },
    });
    expect(created.status).toBe(201);
  });

  it('clears nullable attributes with null, and is refused naming the others', async () => {
    const id = await insertOne(api, 'books', { title: 'a', kind: 'novel', position: 3 });
    const cleared = await patch(`/books/${id}`, book({ position: null }));
    expect([cleared.status, cleared.body.data[0].attributes.position]).toEqual([200, null]);
    const refused = await patch(`/books/${id}`, book({ position: null, title: null, kind: null }));
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([
      { detail: 'title must not be null', source: { pointer: '/data/attributes/title' } },
      { detail: 'kind must not be null', source: { pointer: '/data/attributes/kind' } },
    ]);
  });

  it('may have unknown members, and of repeated names the last counts', async () => {
    const body =
      '{"nonsense":1,"jsonapi":{"version":"9"},"data":{"type":"shelves","extra":[],' +
      '"attributes":{"name":"first","name":"last"}}}';
    const created = await request(api.app)
      .post('/api/v1/shelves')
      .set('Content-Type', 'application/json')
      .send(body);
    expect([created.status, created.body.data.attributes.name]).toEqual([201, 'last']);
  });

  it('is refused if it nests too deeply', async () => {
    const send = (text: string) =>
      request(api.app).post('/api/v1/shelves').set('Content-Type', 'application/json').send(text);
    for (const depth of [65, 500_000]) {
      const refused = await send(`${'['.repeat(depth)}${']'.repeat(depth)}`);
      expect([refused.status, refused.body.errors[0].detail]).toEqual([
        400,
        'the body nests deeper than 64 levels',
      ]);
    }
    expect((await send(`${'['.repeat(64)}${']'.repeat(64)}`)).status).toBe(422);
    const brackets = { type: 'shelves', attributes: { name: `\\"${'['.repeat(90)}` } };
    expect((await post('/shelves', brackets)).status).toBe(201);
  });

  it('is rolled back as a whole when one part of it fails', async () => {
    const shelf = await insertOne(api, 'shelves', { name: 'a' });
    const lines = (await api.knex('audit_events')).length;
    const [one, two] = await Promise.all([
      insertOne(api, 'books', { title: 'a', kind: 'novel', position: 1 }),
      insertOne(api, 'books', { title: 'b', kind: 'novel', position: 1 }),
    ]);
    const refused = await patch(`/shelves/${shelf}`, {
      type: 'shelves',
      attributes: { name: 'changed' },
      relationships: { books: { data: [one, two].map((id) => ({ type: 'books', id })) } },
    });
    expect(refused.status).toBe(409);
    expect(await api.knex('shelves').first()).toMatchObject({ name: 'a' });
    expect(await api.knex('audit_events')).toHaveLength(lines);
  });
});

describe('a constraint of the database', () => {
  it('on uniqueness is 409 naming the attribute', async () => {
    await insertOne(api, 'shelves', { name: 'a' });
    const refused = await post('/shelves', { type: 'shelves', attributes: { name: 'a' } });
    expect([refused.status, refused.body.errors]).toMatchObject([
      409,
      [
        {
          code: 'already_exists',
          detail: 'A record with this name already exists',
          source: { pointer: '/data/attributes/name' },
        },
      ],
    ]);
  });

  it('over several columns names each, a relationship by its pointer', async () => {
    const shelf_id = await insertOne(api, 'shelves', { name: 'a' });
    await insertOne(api, 'books', { title: 'a', kind: 'novel', shelf_id, position: 1 });
    const refused = await post('/books', {
      ...book({ title: 'b', kind: 'novel', position: 1 }),
      relationships: { shelf: { data: { type: 'shelves', id: shelf_id } } },
    });
    expect(refused.status).toBe(409);
    expect(faultsOf(refused)).toEqual([
      ['/data/relationships/shelf/data', 'already_exists'],
      ['/data/attributes/position', 'already_exists'],
    ]);
    expect(refused.body.errors[0].detail).toBe('A record with this shelf, position already exists');
  });

  it('on a value is 422 naming the attribute', async () => {
    const attributes = { name: 'a', capacity: 101 };
    const refused = await post('/shelves', { type: 'shelves', attributes });
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      422,
      {
        code: 'validation_failed',
        detail: 'Not an allowed value (capacity)',
        source: { pointer: '/data/attributes/capacity' },
      },
    ]);
  });

  it('on a row in use is 409 naming its user', async () => {
    const shelf_id = await insertOne(api, 'shelves', { name: 'a' });
    await insertOne(api, 'books', { title: 'a', kind: 'novel', shelf_id });
    const refused = await request(api.app).delete(`/api/v1/shelves/${shelf_id}`);
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      409,
      { code: 'in_use', detail: 'Still in use by books' },
    ]);
  });
});
