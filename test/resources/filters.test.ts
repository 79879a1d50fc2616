import { randomUUID } from 'node:crypto';
import request from 'supertest';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;
let devices: number[];

beforeAll(async () => {
  api = await createTestApi();
  const rows = [{ serial_number: 'A' }, { serial_number: 'B' }, { serial_number: 'C,D' }];
  const inserted = await api.knex('devices').insert(rows).returning('id');
  devices = inserted.map(({ id }) => Number(id));
  const statuses = ['Queued', 'Sent', 'NotNow'];
  const commands = devices.flatMap((device_id) =>
    statuses.map((status) => ({
      uuid: randomUUID(),
      request_type: 'ProfileList',
      payload: Buffer.alloc(1),
      device_id,
      status,
    })),
  );
  await api.knex('commands').insert(commands);
  const [tag] = await api.knex('tags').insert({ name: 'lab' }).returning('id');
  await api.knex('device_tags').insert({ device_id: devices[1], tag_id: tag.id });
});
afterAll(() => api.close());

async function list(path: string, query: Record<string, string>) {
  const { status, body } = await request(api.app).get(`/api/v1${path}`).query(query);
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data as { id: number; attributes: Record<string, unknown> }[];
}

describe('the short form of a filter', () => {
  it('takes several statuses of commands', async () => {
    const found = await list('/commands', { 'filter[status]': 'Queued,NotNow' });
    expect(found).toHaveLength(6);
    const statuses = new Set(found.map(({ attributes }) => attributes.status));
    expect(statuses).toEqual(new Set(['Queued', 'NotNow']));
  });

  it('takes the id of a device, or several', async () => {
    const [first, second] = devices;
    expect(await list('/commands', { 'filter[device]': `${first}` })).toHaveLength(3);
    expect(await list('/commands', { 'filter[device]': `${first},${second}` })).toHaveLength(6);
    expect(
      await list('/commands', { 'filter[device]': `${second}`, 'filter[status]': 'Sent' }),
    ).toHaveLength(1);
    expect(await list('/commands', { 'filter[device]': '999999' })).toEqual([]);
    expect(await list('/devices', { 'filter[id]': `${first},${second}` })).toHaveLength(2);
  });

  it('takes ids of to-many relationships', async () => {
    const [tag] = await list('/tags', {});
    const found = await list('/devices', { 'filter[tags]': `${tag?.id},999` });
    expect(found).toMatchObject([{ id: devices[1] }]);
  });

  it('leaves commas in text alone', async () => {
    const found = await list('/devices', { 'filter[serial_number]': 'C,D' });
    expect(found).toMatchObject([{ id: devices[2] }]);
  });
});

describe('a filter in JSON', () => {
  it('may be one bare rule', async () => {
    const filter = JSON.stringify({ name: 'device', op: 'in', val: devices.slice(0, 2) });
    expect(await list('/commands', { filter })).toHaveLength(6);
    const none = JSON.stringify({ name: 'dep_profile', op: 'is', val: null });
    expect(await list('/devices', { filter: none })).toHaveLength(3);
  });
});

/** Every relationship of every type. */
const RELATIONSHIPS = (DEFINITIONS as ResourceDefinition[]).flatMap(({ path, relationships }) =>
  Object.keys(relationships).map((name): [string, string] => [path, name]),
);

describe('filters by the id of a relationship', () => {
  it.each(RELATIONSHIPS)('%s?filter[%s]=1,2', async (path, name) => {
    const { status, body } = await request(api.app)
      .get(`/api/v1${path}`)
      .query({ [`filter[${name}]`]: '1000001,1000002' });
    expect([status, body.data]).toEqual([200, []]);
  });
});
