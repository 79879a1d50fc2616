import request from 'supertest';
import type { Attribute } from '../../src/jsonapi/definition/attributes.js';
import type { TestApi } from '../jsonapi/test-api.js';
import { createFixture, type Fixture, MEDIA_TYPE, one, visible, WRITABLE } from './fixture.js';
import { FOLLOWING, nullableColumns, sampleAttributes, sampleDocument } from './samples.js';

let fixture: Fixture;
let api: TestApi;
let deviceId: number;
beforeAll(async () => {
  fixture = await createFixture();
  ({ api, deviceId } = fixture);
});
afterAll(() => api.close());

const get: Fixture['get'] = (path, query) => fixture.get(path, query);

describe.each(WRITABLE)('writing %s', (_type, definition) => {
  const { path, type } = definition;
  const url = `/api/v1${path}`;

  async function create(index: number): Promise<request.Response> {
    return request(api.app)
      .post(url)
      .set('Content-Type', MEDIA_TYPE)
      .send(JSON.stringify(sampleDocument(definition, index, deviceId)));
  }

  async function countRows(): Promise<number> {
    return Number((await api.knex(definition.table).count('* as n').first())?.n);
  }

  async function faultsOf(body: unknown, status: number) {
    const before = await countRows();
    const response = await request(api.app).post(url).send(JSON.stringify(body)).type('json');
    expect(response.status).toBe(status);
    expect(await countRows()).toBe(before);
    return response.body.errors;
  }

  it('creates with 201, Location and what was sent', async () => {
    const response = await create(6);
    expect(response.status).toBe(201);
    expect(response.headers.location).toBe(`${url}/${one(response).id}`);
    const sent = sampleAttributes(definition, 6);
    for (const [name, value] of Object.entries(sent)) {
      const shown = one(response).attributes[name];
      const { kind, writeOnly } = definition.attributes[name] as Attribute;
      if (writeOnly) expect([name, shown]).toEqual([name, undefined]);
      else if (kind === 'timestamp')
        expect(Date.parse(String(shown))).toBe(Date.parse(String(value)));
      else expect([name, shown]).toEqual([name, value]);
    }
    const again = await get(`${path}/${one(response).id}`);
    expect(again.body).toEqual(response.body);
  });

  it('writes an audit line for each change, in the same transaction', async () => {
    const created = await create(7);
    const id = one(created).id;
    const lines = await api
      .knex('audit_events')
      .where({ target_type: type, target_id: String(id) });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      actor: 'tester',
      role: 'admin',
      source_address: '192.0.2.1',
      action: `${type}.create`,
      request_id: 'request-1',
      outcome: 'success',
    });
    const sent = Object.keys(sampleAttributes(definition, 7));
    expect(Object.keys(lines[0].details.changes)).toEqual(expect.arrayContaining(sent));
  });

  it('changes what is sent, clears with null and keeps the rest', async () => {
    const before = one(await create(11));
    // Where the column accepts no null, null asks for a value of the server's own.
    const columns = await nullableColumns(api.knex, definition.table);
    const clearable = visible(definition, ({ write, nullable, writeOnly }) => {
      return write === 'always' && nullable && writeOnly !== true;
    }).filter(([name]) => columns.has(name));
    const attributes = Object.fromEntries(clearable.map(([name]) => [name, null]));
    const response = await request(api.app)
      .patch(`${url}/${before.id}`)
      .send({ data: { type, id: String(before.id), attributes } });
    expect(response.status).toBe(200);
    // What is derived from a changed attribute follows it.
    const derived = visible(definition, ({ derivedFrom = [] }) =>
      derivedFrom.some((name) => name in attributes),
    ).map(([name]) => name);
    const following = [...derived, ...(FOLLOWING[type] ?? [])].map((name) => [
      name,
      one(response).attributes[name],
    ]);
    const expected = { ...before.attributes, ...attributes, ...Object.fromEntries(following) };
    expect(one(response).attributes).toEqual(expected);
  });

  it('repeats the first answer for the same Idempotency-Key', async () => {
    const send = () =>
      request(api.app)
        .post(url)
        .set({
          'Content-Type': MEDIA_TYPE,
          'Idempotency-Key': `conformance ${type}`.replace(' ', '-'),
        })
        .send(JSON.stringify(sampleDocument(definition, 15, deviceId)));
    const first = await send();
    const again = await send();
    expect(first.status).toBe(201);
    expect([again.status, again.text, again.headers.location, again.headers.etag]).toEqual([
      ...[201, first.text, first.headers.location, first.headers.etag],
    ]);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });

  it('refuses with 412 a resource that was changed meanwhile', async () => {
    const created = await create(17);
    const item = `${url}/${one(created).id}`;
    const { etag } = (await request(api.app).get(item)).headers as { etag: string };
    expect(created.headers.etag).toBe(etag);
    for (const method of ['patch', 'delete'] as const) {
      if (definition.access[method === 'patch' ? 'update' : 'delete'] === null) continue;
      const refused = await request(api.app)
        [method](item)
        .set('If-Match', '"another"')
        .send(method === 'patch' ? { data: { type } } : undefined);
      expect([refused.status, refused.body.errors[0].code]).toEqual([412, 'precondition_failed']);
    }
    if (definition.access.update === null) return;
    const patched = await request(api.app)
      .patch(item)
      .set('If-Match', etag)
      .send({ data: { type } });
    expect([patched.status, patched.headers.etag]).toEqual([200, etag]);
  });

  it('ignores what is known but read-only', async () => {
    const before = one(await create(9));
    const readOnly = visible(definition, ({ write }) => write === 'never');
    const attributes = Object.fromEntries(readOnly.map(([name]) => [name, { any: 'thing' }]));
    const response = await request(api.app)
      .patch(`${url}/${before.id}`)
      .send({ data: { type, attributes } });
    expect(response.status).toBe(200);
    expect(one(response)).toEqual(before);
  });

  it('accepts a document as it was read, and changes nothing', async () => {
    if (definition.access.update === null) return;
    const rows = () => api.knex(definition.table).orderBy('id');
    const { data } = (await get(path, { 'page[size]': '1000' })).body;
    const before = await rows();
    for (const { id } of data) {
      const read = one(await get(`${path}/${id}`));
      const response = await request(api.app).patch(`${url}/${id}`).send({ data: read });
      expect([response.status, one(response)]).toEqual([200, read]);
    }
    expect(await rows()).toEqual(before);
  });

  it('removes with 204, after which it is not found', async () => {
    // A type may refuse text samples that exist already.
    const { id } = one(await create(5));
    const removed = await request(api.app).delete(`${url}/${id}`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await get(`${path}/${id}`)).status).toBe(404);
    const again = await request(api.app).delete(`${url}/${id}`);
    expect([again.status, again.body.errors[0].code]).toEqual([404, 'not_found']);
    const changed = await request(api.app).patch(`${url}/${id}`).send({ data: { type } });
    expect([changed.status, changed.body.errors[0].code]).toEqual([404, 'not_found']);
  });

  it('refuses a body that is not JSON with 400', async () => {
    const response = await request(api.app)
      .post(url)
      .set('Content-Type', MEDIA_TYPE)
      .send('{"data": ');
    expect([response.status, response.body.errors[0].code]).toEqual([400, 'malformed_json']);
  });

  it.each(['text/plain', `${MEDIA_TYPE}; charset=utf-8`, `${MEDIA_TYPE}; ext="x"`, 'text/json'])(
    'refuses a body of type %s with 415',
    async (contentType) => {
      const response = await request(api.app).post(url).set('Content-Type', contentType).send('{}');
      expect(response.status).toBe(415);
      expect(response.body.errors[0].code).toBe('unsupported_media_type');
    },
  );

  it('refuses to answer only with parameters of the media type: 406', async () => {
    const accept = `${MEDIA_TYPE}; ext="x", text/html`;
    const response = await get(path).set('Accept', accept);
    expect([response.status, response.body.errors[0].code]).toEqual([406, 'not_acceptable']);
  });

  it('refuses documents without a resource with 422 and the pointer', async () => {
    for (const body of [null, [], 'text', 7, {}]) await faultsOf(body, 422);
    for (const data of [null, [], 'text', 7]) {
      expect((await faultsOf({ data }, 422))[0].source).toEqual({ pointer: '/data' });
    }
    expect((await faultsOf({ data: {} }, 422))[0].source).toEqual({ pointer: '/data/type' });
  });

  it('refuses another type and an id of the client', async () => {
    const [other] = await faultsOf({ data: { type: 'others' } }, 409);
    expect(other).toMatchObject({ code: 'wrong_type', source: { pointer: '/data/type' } });
    const [id] = await faultsOf({ data: { type, id: '7' } }, 403);
    expect(id).toMatchObject({ code: 'forbidden', source: { pointer: '/data/id' } });
    const { id: made } = one(await create(13));
    const wrong = await request(api.app)
      .patch(`${url}/${made}`)
      .send({ data: { type, id: made + 1 } });
    expect([wrong.status, wrong.body.errors[0].source]).toEqual([409, { pointer: '/data/id' }]);
  });

  it('reports every fault at once', async () => {
    const wrong = visible(definition, ({ write, kind }) => write !== 'never' && kind !== 'json');
    const creatable = wrong.filter(([, { write }]) => write !== 'update');
    const attributes = Object.fromEntries(creatable.map(([name]) => [name, { not: 'this' }]));
    const errors = await faultsOf(
      { data: { type, attributes: { ...attributes, nonsense: 1, __proto: 2 } } },
      422,
    );
    const pointers = errors.map((error: { source: { pointer: string } }) => error.source.pointer);
    for (const name of [...creatable.map(([known]) => known), 'nonsense', '__proto']) {
      expect(pointers).toContain(`/data/attributes/${name}`);
    }
  });

  it('refuses unknown relationships and related resources that do not exist', async () => {
    const unknown = { data: { type, relationships: { nonsense: { data: null } } } };
    const pointers = (await faultsOf(unknown, 422)).map(
      (error: { source: { pointer: string } }) => error.source.pointer,
    );
    expect(pointers).toContain('/data/relationships/nonsense');
    if (!definition.relationships.device) return;
    const [missing] = await faultsOf(sampleDocument(definition, 1, 987654), 404);
    expect(missing).toMatchObject({
      code: 'not_found',
      detail: 'devices 987654 does not exist',
      source: { pointer: '/data/relationships/device/data' },
    });
  });

  it('refuses text that the database cannot keep', async () => {
    const texts = visible(definition, ({ write, kind }) => write === 'always' && kind === 'text');
    for (const [name] of texts) {
      for (const value of ['a\0b', '\ud800']) {
        const { data } = sampleDocument(definition, 1, deviceId);
        const attributes = { ...data.attributes, [name]: value };
        const [error] = await faultsOf({ data: { ...data, attributes } }, 422);
        expect(error.source).toEqual({ pointer: `/data/attributes/${name}` });
      }
    }
  });
});
