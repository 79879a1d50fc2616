import request from 'supertest';
import { createLibrary, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
let shelf: number;
let book: number;
beforeAll(async () => {
  api = await createLibrary();
  shelf = await insertOne(api, 'shelves', { name: 'a' });
  book = await insertOne(api, 'books', { title: 'x', kind: 'novel', shelf_id: shelf });
});
afterAll(() => api.close());

const get = (path: string) => request(api.app).get(`/api/v1${path}`);

describe('a to-one relationship that is not set', () => {
  it('has no link to a related resource', async () => {
    const free = await insertOne(api, 'books', { title: 'free', kind: 'novel' });
    const self = `/api/v1/books/${free}/relationships/shelf`;
    const item = await get(`/books/${free}`);
    expect(item.body.data[0].relationships.shelf).toEqual({ links: { self }, data: null });
    const list = await get(`/books?filter[id]=${free}`);
    expect(list.body.data).toEqual(item.body.data);
    const alone = await get(`/books/${free}/relationships/shelf`);
    expect([alone.body.data, alone.body.links]).toEqual([null, { self }]);
  });
});

describe('a relationship without linkage that a client flattens into the attributes', () => {
  const patch = (attributes: object) =>
    request(api.app)
      .patch(`/api/v1/shelves/${shelf}`)
      .send({ data: { type: 'shelves', id: shelf, attributes } });

  it('is ignored, and the rest of the update is stored', async () => {
    const { body } = await get(`/shelves/${shelf}`);
    const { books } = body.data.relationships;
    expect(books.data).toBeUndefined();
    const { status, body: changed } = await patch({ name: 'b', books });
    expect([status, changed.data.attributes.name]).toEqual([200, 'b']);
    expect(await api.knex('books').where({ id: book, shelf_id: shelf })).toHaveLength(1);
  });

  it('is ignored in a create too', async () => {
    const attributes = { name: 'c', books: { links: { self: '/x', related: '/y' } } };
    const created = await request(api.app)
      .post('/api/v1/shelves')
      .send({ data: { type: 'shelves', attributes } });
    expect(created.status).toBe(201);
  });

  it.each([
    ['has linkage', { books: { links: {}, data: [] } }],
    ['is no object', { books: 'x' }],
    ['has no links', { books: {} }],
    ['is of an unknown name', { nonsense: { links: { self: '/x' } } }],
  ])('is refused with 422 if it %s', async (_what, attributes) => {
    const { status, body } = await patch(attributes);
    const [name] = Object.keys(attributes);
    expect(status).toBe(422);
    expect(body.errors[0].source).toEqual({ pointer: `/data/attributes/${name}` });
  });
});
