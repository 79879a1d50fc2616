import request from 'supertest';
import { text } from '../../../src/jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  type DeleteOperation,
  defineResource,
  type ResourceDefinition,
  type UpdateOperation,
} from '../../../src/jsonapi/definition/definition.js';
import { createTestApi, type TestApi } from '../test-api.js';

const SCHEMA = `
create table jars (
  id bigint generated always as identity primary key,
  name text not null
);
create table racks (id bigint generated always as identity primary key, name text);
`;

let seen: string[][] = [];

const jars = defineResource<unknown>({
  type: 'jars',
  path: '/jars',
  table: 'jars',
  access: { read: 'viewer', create: 'operator', update: 'operator', delete: 'operator' },
  attributes: { name: text({ required: true }) },
  relationships: {},
  views: [{ path: '/honey_jars', attribute: 'name', value: 'honey' }],
  writeFlags: { force: 'Also over the edge.', dry: 'Only looks.' },
  deleteFlags: { smash: 'Also a full one.' },
  operations: {
    create: async ({ store, trx, shape, attributes, flags }: CreateOperation<unknown>) => {
      seen.push([...flags]);
      return { id: await store.insert(trx, { shape, values: attributes }) };
    },
    update: async ({ id, flags }: UpdateOperation<unknown>) => {
      seen.push([...flags]);
      return { id };
    },
    delete: async ({ id, store, trx, shape, flags }: DeleteOperation<unknown>) => {
      seen.push([...flags]);
      await store.remove(trx, { shape, id });
    },
  },
});

const racks = defineResource<unknown>({
  type: 'racks',
  path: '/racks',
  table: 'racks',
  access: { read: 'viewer', create: 'operator', update: 'operator', delete: 'operator' },
  attributes: { name: text() },
  relationships: {},
});

let api: TestApi;
beforeAll(async () => {
  const definitions: ResourceDefinition[] = [jars, racks];
  api = await createTestApi({ definitions, schema: SCHEMA });
});
beforeEach(() => {
  seen = [];
});
afterAll(() => api.close());

const jar = { data: { type: 'jars', attributes: { name: 'honey' } } };
const post = (path: string, body: object = jar) =>
  request(api.app).post(`/api/v1${path}`).send(body);
const patch = (path: string) =>
  request(api.app)
    .patch(`/api/v1${path}`)
    .send({ data: { type: 'jars', attributes: { name: 'jam' } } });
const refusal = ({ status, body }: request.Response) => [
  status,
  body.errors[0].code,
  body.errors[0].source?.parameter,
];

describe('the flags of a write', () => {
  it('are refused if they are neither true nor false, or repeated', async () => {
    const { id } = (await post('/jars')).body.data;
    seen = [];
    const before = await api.knex('jars').count();
    const invalid = [400, 'invalid_parameter', 'force'];
    for (const query of ['force', 'force=', 'force=1', 'force=TRUE', 'force=true&force=true']) {
      expect([query, refusal(await post(`/jars?${query}`))]).toEqual([query, invalid]);
      expect([query, refusal(await patch(`/jars/${id}?${query}`))]).toEqual([query, invalid]);
    }
    expect(seen).toEqual([]);
    expect(await api.knex('jars').count()).toEqual(before);
  });

  it('are unknown to other types, to reads and to deletes', async () => {
    const { id } = (await post('/jars')).body.data;
    const unknown = [400, 'invalid_parameter', 'force'];
    const rack = { data: { type: 'racks', attributes: {} } };
    expect(refusal(await post('/racks?force=true', rack))).toEqual(unknown);
    for (const path of ['/jars', `/jars/${id}`, '/honey_jars']) {
      expect(refusal(await request(api.app).get(`/api/v1${path}?force=true`))).toEqual(unknown);
    }
    for (const path of [`/jars/${id}?force=true`, '/racks/1?force=true']) {
      expect(refusal(await request(api.app).delete(`/api/v1${path}`))).toEqual(unknown);
    }
    const smash = [400, 'invalid_parameter', 'smash'];
    for (const answer of [post('/jars?smash=true'), patch(`/jars/${id}?smash=true`)]) {
      expect(refusal(await answer)).toEqual(smash);
    }
    const unclear = request(api.app).delete(`/api/v1/jars/${id}?smash=1`);
    expect(refusal(await unclear)).toEqual(smash);
    expect(refusal(await post('/jars?constructor=true'))).toEqual([
      400,
      'invalid_parameter',
      'constructor',
    ]);
  });

  it('reach the operations of the collection, its views and its items', async () => {
    const { id } = (await post('/jars?force=true&dry=false')).body.data;
    await post('/honey_jars?dry=true&force=true').expect(201);
    await patch(`/jars/${id}?force=true`).expect(200);
    await patch(`/jars/${id}?force=false`).expect(200);
    await patch(`/jars/${id}`).expect(200);
    expect(seen).toEqual([['force'], ['dry', 'force'], ['force'], [], []]);
  });

  it('of a delete reach only its operation and the audit trail', async () => {
    for (const query of ['smash=true', 'smash=false', '']) {
      const { id } = (await post('/jars')).body.data;
      await request(api.app).delete(`/api/v1/jars/${id}?${query}`).expect(204);
    }
    expect(seen).toEqual([[], ['smash'], [], [], [], []]);
    const lines = await api.knex('audit_events').where({ action: 'jars.delete' }).orderBy('id');
    expect(lines.map(({ details }) => details)).toEqual([
      { changes: { name: ['honey', null] }, parameters: ['smash'] },
      { changes: { name: ['honey', null] } },
      { changes: { name: ['honey', null] } },
    ]);
  });

  it('are in the audit trail, and in no link', async () => {
    const made = await post('/jars?force=true&fields[jars]=name');
    const { id, links } = made.body.data;
    expect(made.body.links.self).toBe(`/api/v1/jars/${id}?fields%5Bjars%5D=name`);
    expect(links.self).toBe(`/api/v1/jars/${id}`);
    await patch(`/jars/${id}`).expect(200);
    const lines = await api
      .knex('audit_events')
      .where({ target_type: 'jars', target_id: String(id) })
      .orderBy('id');
    expect(lines.map(({ action, details }) => [action, details])).toEqual([
      ['jars.create', { changes: { name: [null, 'honey'] }, parameters: ['force'] }],
      ['jars.update', { changes: {} }],
    ]);
  });
});
