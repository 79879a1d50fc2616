import request from 'supertest';
import { defineResource } from '../../../src/jsonapi/definition/definition.js';
import { createLibrary, insert, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('books').del();
});
afterAll(() => api.close());

const get = (path: string) => request(api.app).get(`/api/v1${path}`);
const post = (path: string, body: object) => request(api.app).post(`/api/v1${path}`).send(body);
const book = (attributes: object) => ({ data: { type: 'books', attributes } });

describe('a view', () => {
  it("can't be defined on an unknown attribute", () => {
    const access = { read: 'viewer', create: null, update: null, delete: null } as const;
    const views = [{ path: '/x', attribute: 'nonsense', value: 'a' }];
    const definition = { type: 'x', path: '/xs', table: 'x', access, attributes: {}, views };
    expect(() => defineResource({ ...definition, relationships: {} })).toThrow(
      'x has no attribute nonsense to view by',
    );
  });

  it('lists only the rows with its value, whatever the filter', async () => {
    const [novel] = await insert(api, 'books', [
      { title: 'a', kind: 'novel' },
      { title: 'a', kind: 'atlas' },
    ]);
    const listed = await get('/novels?filter[title]=a');
    expect(listed.status).toBe(200);
    expect(listed.body.data.map(({ id }: { id: number }) => id)).toEqual([novel]);
    expect(listed.body.data[0].links.self).toBe(`/api/v1/books/${novel}`);
    expect(listed.body.meta).toEqual({ count: 1, total: 1 });
    expect(listed.body.links.self).toBe('/api/v1/novels?filter%5Btitle%5D=a');
    expect((await get('/novels/?filter[kind]=atlas')).body.data).toEqual([]);
  });

  it('sets its value on resources created there', async () => {
    const silent = await post('/atlases', book({ title: 'b' }));
    expect(silent.status).toBe(201);
    expect(silent.body.data[0].attributes.kind).toBe('atlas');
    expect(silent.headers.location).toBe(`/api/v1/books/${silent.body.data[0].id}`);
    const said = await post('/atlases/', book({ title: 'c', kind: 'atlas' }));
    expect([said.status, said.body.data[0].attributes.kind]).toEqual([201, 'atlas']);
  });

  it('refuses another value with 409, and an invalid one with 422', async () => {
    const other = await post('/atlases', book({ title: 'b', kind: 'novel' }));
    expect([other.status, other.body.errors[0]]).toEqual([
      409,
      expect.objectContaining({
        code: 'conflict',
        detail: 'the path is that of atlas',
        source: { pointer: '/data/attributes/kind' },
      }),
    ]);
    expect(await api.knex('books')).toEqual([]);
  });

  it('has the methods of a collection, and no items', async () => {
    expect((await get('/novels/1')).body.errors[0].code).toBe('no_such_route');
    const options = await request(api.app).options('/api/v1/novels');
    expect(options.headers.allow).toBe('GET, POST, HEAD, OPTIONS');
  });
});

describe('a type whose documents are always arrays', () => {
  const one = { data: [expect.objectContaining({ type: 'books' })], meta: { count: 1 } };

  it('has an array of one in the documents of an item, a create and an update', async () => {
    const created = await post('/books', book({ title: 'a', kind: 'novel' }));
    expect(created.body).toMatchObject(one);
    const path = `/books/${created.body.data[0].id}`;
    const read = await get(path);
    expect(read.body).toEqual({
      data: created.body.data,
      links: { self: `/api/v1${path}` },
      meta: { count: 1 },
      jsonapi: { version: '1.0' },
    });
    const changed = await request(api.app)
      .patch(`/api/v1${path}`)
      .send(book({ title: 'z' }));
    expect(changed.body).toMatchObject(one);
    expect(changed.body.data[0].attributes.title).toBe('z');
  });

  it('keeps ordinary linkage on its relationships', async () => {
    const id = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const linkage = await get(`/books/${id}/relationships/shelf`);
    expect(linkage.body).toMatchObject({ data: null });
    expect(linkage.body.meta).toBeUndefined();
  });
});

describe('another form of a create body', () => {
  it('is converted to a document by the definition', async () => {
    const created = await post('/books', { novel: 'Title' });
    expect([created.status, created.body.data[0].attributes]).toEqual([
      201,
      { title: 'Title', kind: 'novel', position: null },
    ]);
    expect((await post('/books', { atlas: 'Title' })).status).toBe(422);
  });
});
