import request from 'supertest';
import { createLibrary, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

const STRINGS = 'application/vnd.api+json; profile="urn:muster:string-ids"';
const NUMBERS = 'application/vnd.api+json';

let api: TestApi;
let shelf: number;
let book: number;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('idempotency_keys').del();
  await api.knex('books').del();
  await api.knex('shelves').del();
  shelf = await insertOne(api, 'shelves', { name: 'a' });
  book = await insertOne(api, 'books', { title: 'x', kind: 'novel', shelf_id: shelf });
});
afterAll(() => api.close());

type Verb = 'get' | 'post' | 'patch' | 'delete' | 'head';

function ask(verb: Verb, path: string, accept = STRINGS) {
  return request(api.app)[verb](`/api/v1${path}`).set('Accept', accept);
}

/** Every id in a document, as JSON shows it. */
function idsIn(text: string): string[] {
  return [...text.matchAll(/"id":("?[^",}]*"?)/g)].map(([, id = '']) => id);
}

function expectStrings({ text, headers }: request.Response, ids: number[]) {
  expect(idsIn(text)).toEqual(ids.map((id) => `"${id}"`));
  expect(headers['content-type']).toBe(STRINGS);
  expect(headers.vary).toContain('Accept');
}

/** The text without its quotes around ids. */
function withNumbers(text: string): string {
  return text.replace(/"id":"(\d+)"/g, '"id":$1');
}

describe('the profile urn:muster:string-ids', () => {
  it.each([
    ['a list', '/books?include=shelf', () => [book, shelf, shelf]],
    ['a list with to-many linkage', '/shelves?include=books', () => [shelf, book, book, shelf]],
    ['a list below a parent', () => `/shelves/${shelf}/books`, () => [book, shelf]],
    ['one resource', () => `/books/${book}?include=shelf`, () => [book, shelf, shelf]],
    ['a to-one relationship', () => `/books/${book}/relationships/shelf`, () => [shelf]],
    ['a to-many relationship', () => `/shelves/${shelf}/relationships/books`, () => [book]],
  ])('makes every id of %s a string and changes nothing else', async (_what, path, ids) => {
    const url = typeof path === 'string' ? path : path();
    const strings = await ask('get', url);
    const numbers = await ask('get', url, NUMBERS);
    expect(strings.status).toBe(200);
    expectStrings(strings, ids());
    expect(withNumbers(strings.text)).toBe(numbers.text);
    expect(numbers.headers['content-type']).toBe(NUMBERS);
    expect(numbers.headers.vary).toContain('Accept');
  });

  it('applies to creates, updates and links, with string ids in the request', async () => {
    const data = {
      type: 'books',
      attributes: { title: 'new', kind: 'novel' },
      relationships: { shelf: { data: { type: 'shelves', id: String(shelf) } } },
    };
    const created = await ask('post', '/books').set('Content-Type', STRINGS).send({ data });
    expect(created.status).toBe(201);
    const [{ id }] = created.body.data;
    expectStrings(created, [Number(id), shelf]);
    expect(created.headers.location).toBe(`/api/v1/books/${id}`);
    const change = { data: { type: 'books', id, attributes: { title: 'newer' } } };
    expectStrings(await ask('patch', `/books/${id}`).send(change), [Number(id), shelf]);
    const link = { data: [{ type: 'books', id: String(book) }] };
    const linked = await ask('patch', `/shelves/${shelf}/relationships/books`).send(link);
    expectStrings(linked, [book]);
    const alone = await ask('patch', `/books/${id}/relationships/shelf`).send({ data: null });
    expect([alone.status, alone.body.data]).toEqual([200, null]);
  });

  it('leaves errors and empty responses unchanged', async () => {
    const missing = await ask('get', '/books/999999');
    expect([missing.status, missing.headers['content-type']]).toEqual([404, NUMBERS]);
    expect(missing.headers.vary).toContain('Accept');
    const deleted = await ask('delete', `/books/${book}`);
    expect([deleted.status, deleted.headers['content-type']]).toEqual([204, undefined]);
  });

  it('answers HEAD with the length and type of the GET', async () => {
    const got = await ask('get', '/books');
    const { headers } = await ask('head', '/books');
    expect(headers['content-length']).toBe(got.headers['content-length']);
    expect(headers['content-type']).toBe(STRINGS);
  });
});

describe('the entity tag', () => {
  it.each(['/books', () => `/books/${book}`, () => `/books/${book}/relationships/shelf`])(
    'of %s differs between the forms, so that neither is taken for the other',
    async (path) => {
      const url = typeof path === 'string' ? path : path();
      const strings = (await ask('get', url)).headers.etag ?? '';
      const numbers = (await ask('get', url, NUMBERS)).headers.etag ?? '';
      expect(strings).not.toBe(numbers);
      const status = async (accept: string, tag: string) =>
        (await ask('get', url, accept).set('If-None-Match', tag)).status;
      expect(await status(STRINGS, strings)).toBe(304);
      expect(await status(NUMBERS, numbers)).toBe(304);
      expect(await status(STRINGS, numbers)).toBe(200);
      expect(await status(NUMBERS, strings)).toBe(200);
    },
  );

  it('of either form is valid for If-Match', async () => {
    const tag = (await ask('get', `/shelves/${shelf}`)).headers.etag ?? '';
    const change = (name: string) => ({ data: { type: 'shelves', attributes: { name } } });
    const patch = (accept: string, ifMatch: string, name: string) =>
      ask('patch', `/shelves/${shelf}`, accept).set('If-Match', ifMatch).send(change(name));
    const first = await patch(NUMBERS, tag, 'b');
    expect(first.status).toBe(200);
    expect((await patch(STRINGS, tag, 'c')).status).toBe(412);
    const next = await patch(STRINGS, first.headers.etag ?? '', 'c');
    expect(next.status).toBe(200);
    const now = await ask('get', `/shelves/${shelf}`);
    expect(next.headers.etag).toBe(now.headers.etag);
  });
});

describe('an Idempotency-Key', () => {
  const body = { data: { type: 'shelves', attributes: { name: 'once' } } };
  const create = (accept: string) =>
    ask('post', '/shelves', accept).set('Idempotency-Key', 'k-1').send(body);

  it.each([
    [STRINGS, NUMBERS],
    [NUMBERS, STRINGS],
  ])('first used with %p repeats the response in the requested form, here %p', async (...forms) => {
    const [first, again, third] = [
      await create(forms[0]),
      await create(forms[1]),
      await create(forms[0]),
    ];
    expect([first.status, again.status, third.status]).toEqual([201, 201, 201]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect([third.text, third.headers.etag]).toEqual([first.text, first.headers.etag]);
    expect(withNumbers(again.text)).toBe(withNumbers(first.text));
    expect([first, again].map(({ headers }) => headers['content-type'])).toEqual(forms);
    const { id } = first.body.data;
    const read = await ask('get', `/shelves/${id}`, forms[1]);
    expect([again.text, again.headers.etag]).toEqual([read.text, read.headers.etag]);
  });
});
