import request from 'supertest';
import { parseIfMatch } from '../../../src/jsonapi/requests/entity-tag.js';
import { createLibrary, insertOne } from '../library.js';
import type { TestApi } from '../test-api.js';

let api: TestApi;
let id: number;
let path: string;
beforeAll(async () => {
  api = await createLibrary();
});
beforeEach(async () => {
  await api.knex('books').del();
  await api.knex('shelves').del();
  id = await insertOne(api, 'shelves', { name: 'a' });
  path = `/api/v1/shelves/${id}`;
});
afterAll(() => api.close());

const document = (attributes: object) => ({ data: { type: 'shelves', attributes } });

const patch = (ifMatch: string, attributes: object = { capacity: 7 }) =>
  request(api.app).patch(path).set('If-Match', ifMatch).send(document(attributes));

async function tagOf(query = ''): Promise<string> {
  return String((await request(api.app).get(path + query)).headers.etag);
}

const stateOf = (tag: string) => tag.slice(3).split('.')[0];

describe('parseIfMatch', () => {
  it.each(['', 'abc', '"abc', 'abc"', '"a" "b"', '"a",', '*, "a"', "'a'", '"a\u00e4"', '**'])(
    'refuses %p with 400',
    (header) => {
      expect(() => parseIfMatch(header)).toThrow(
        expect.objectContaining({ status: 400, source: { header: 'If-Match' } }),
      );
    },
  );

  it('accepts a star and lists of tags, weak ones and ones with commas, too', () => {
    expect(parseIfMatch(' * ')).toBeUndefined();
    expect(parseIfMatch('"a.b"')).toEqual(new Set(['a']));
    expect(parseIfMatch('"a.b" , W/"c.d","e,f",""')).toEqual(new Set(['a', 'c', 'e,f', '']));
  });

  it('reads a long header in linear time', () => {
    const start = performance.now();
    expect(() => parseIfMatch(`${'"a" ,'.repeat(3000)}"`)).toThrow();
    // In quadratic time it would take minutes.
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe('the entity tag of an item', () => {
  it('has the state of the row and the hash of the bytes', async () => {
    const tag = await tagOf();
    expect(tag).toMatch(/^W\/"[\w-]{22}\.[\w-]{22}"$/);
    expect(await tagOf()).toBe(tag);
    const sparse = await tagOf('?fields[shelves]=name');
    expect(stateOf(sparse)).toBe(stateOf(tag));
    expect(sparse).not.toBe(tag);
    const head = await request(api.app).head(path);
    expect(head.headers.etag).toBe(tag);
  });

  it('changes with the row and its to-one relationships, not with volatile attributes', async () => {
    const tag = await tagOf();
    await api.knex('shelves').update({ visits: 9 });
    const visited = await tagOf();
    expect([stateOf(visited), visited === tag]).toEqual([stateOf(tag), false]);
    await api.knex('shelves').update({ capacity: 9 });
    expect(stateOf(await tagOf())).not.toBe(stateOf(tag));

    const book = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    path = `/api/v1/books/${book}`;
    const alone = await tagOf();
    await api.knex('books').update({ shelf_id: id });
    expect(stateOf(await tagOf())).not.toBe(stateOf(alone));
  });

  it('of a create or an update is that of the next read', async () => {
    const created = await request(api.app)
      .post('/api/v1/shelves')
      .send(document({ name: 'new' }));
    path = String(created.headers.location);
    expect(created.headers.etag).toBe(await tagOf());
    const changed = await patch('*');
    expect(changed.headers.etag).toBe(await tagOf());
  });
});

describe('If-Match', () => {
  it('refuses an update of a changed row with 412, and changes nothing', async () => {
    const tag = await tagOf();
    await api.knex('shelves').update({ name: 'of somebody else' });
    const refused = await patch(tag, { name: 'mine' });
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      412,
      {
        code: 'precondition_failed',
        detail: `shelves ${id} has been changed meanwhile; read it again`,
        source: { header: 'If-Match' },
      },
    ]);
    expect(await api.knex('shelves').first()).toMatchObject({ name: 'of somebody else' });
    expect((await patch(await tagOf(), { name: 'mine' })).status).toBe(200);
  });

  it('accepts one of two concurrent updates', async () => {
    const tag = await tagOf();
    const answers = await Promise.all(['b', 'c', 'd'].map((name) => patch(tag, { name })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  });

  it('compares only the state: the tag of another representation or a strong tag matches', async () => {
    expect((await patch(await tagOf('?fields[shelves]=name'), { capacity: 1 })).status).toBe(200);
    expect((await patch((await tagOf()).slice(2), { capacity: 2 })).status).toBe(200);
    expect((await patch(`"x", ${await tagOf()}`, { capacity: 3 })).status).toBe(200);
    await api.knex('shelves').update({ visits: 5 });
    expect((await patch('"x"')).status).toBe(412);
  });

  it('matches every existing row by a star, and is 404 without a row', async () => {
    expect((await patch('*')).status).toBe(200);
    path = '/api/v1/shelves/987654';
    expect((await patch('*')).status).toBe(404);
    expect((await patch('"x"')).status).toBe(404);
  });

  it('that is malformed is refused with 400', async () => {
    const refused = await patch('abc');
    expect([refused.status, refused.body.errors[0].source]).toEqual([400, { header: 'If-Match' }]);
  });

  it('protects deletes and relationships, too', async () => {
    const book = await insertOne(api, 'books', { title: 'a', kind: 'novel' });
    const links = () =>
      request(api.app)
        .post(`${path}/relationships/books`)
        .send({ data: [{ type: 'books', id: book }] });
    const move = () =>
      request(api.app)
        .patch(`/api/v1/books/${book}/relationships/shelf`)
        .send({ data: { type: 'shelves', id } });
    expect((await links().set('If-Match', '"x"')).status).toBe(412);
    expect((await move().set('If-Match', '"x"')).status).toBe(412);
    expect(await api.knex('books').first()).toMatchObject({ shelf_id: null });
    expect((await links().set('If-Match', await tagOf())).status).toBe(200);
    await api.knex('books').del();
    expect((await request(api.app).delete(path).set('If-Match', '"x"')).status).toBe(412);
    expect(
      (
        await request(api.app)
          .delete(path)
          .set('If-Match', await tagOf())
      ).status,
    ).toBe(204);
  });
});
