import { randomUUID } from 'node:crypto';
import Devour from 'devour-client';
import Kitsu from 'kitsu';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

interface Item {
  id: number | string;
  type: string;
  [name: string]: unknown;
}

describe('the client kitsu', () => {
  const client = () =>
    new Kitsu({
      baseURL: `${app.url}/api/v1`,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
      camelCaseTypes: false,
      resourceCase: 'none',
      pluralize: false,
      query: 'modern',
    });

  it('creates, reads, lists, updates and deletes', async () => {
    const api = client();
    const name = randomUUID();
    const { data: tag } = await api.create('tags', { name, color: '336699' });
    expect(tag).toMatchObject({ id: expect.any(Number), type: 'tags', name, color: '336699' });

    const { data: read } = await api.get(`tags/${tag.id}`);
    expect(read).toMatchObject({ id: tag.id, name });

    const filter = JSON.stringify([{ name: 'name', op: 'eq', val: name }]);
    const params = { filter, sort: '-id', page: { size: 5, number: 1 }, fields: { tags: 'name' } };
    const { data: list, meta } = await api.get('tags', { params });
    expect(list.map((item: Item) => [item.id, item.name, item.color])).toEqual([
      [tag.id, name, undefined],
    ]);
    expect(meta).toMatchObject({ count: 1, total: 1 });

    const { data: changed } = await api.update('tags', { id: tag.id, color: '000000' });
    expect(changed).toMatchObject({ id: tag.id, name, color: '000000' });

    await api.delete('tags', tag.id);
    await expect(api.get(`tags/${tag.id}`)).rejects.toMatchObject({
      response: { status: 404 },
      errors: [{ code: 'not_found', status: '404' }],
    });
  });

  it('relates, and includes what is related', async () => {
    const api = client();
    const { data: tag } = await api.create('tags', { name: randomUUID() });
    const tags = { data: [{ type: 'tags', id: tag.id }] };
    const { data: device } = await api.create('devices', { udid: randomUUID(), tags });
    const { data: read } = await api.get(`devices/${device.id}`, { params: { include: 'tags' } });
    expect(read.tags.data).toMatchObject([{ id: tag.id, name: tag.name }]);
    const { data: ends } = await api.get(`tags/${tag.id}/relationships/devices`);
    expect(ends).toEqual([{ type: 'devices', id: device.id }]);
  });

  it('sends back what it read, relationships that were not loaded among it', async () => {
    const api = client();
    const { data: tag } = await api.create('tags', { name: randomUUID() });
    const tags = { data: [{ type: 'tags', id: tag.id }] };
    const { data: device } = await api.create('devices', { udid: randomUUID(), tags });
    const { data: read } = await api.get(`devices/${device.id}`);
    expect(read.tags).toEqual({ links: expect.any(Object) });
    const { data: changed } = await api.update('devices', { ...read, asset_tag: 'A-7' });
    expect(changed.asset_tag).toBe('A-7');
    const { data: ends } = await api.get(`devices/${device.id}/relationships/tags`);
    expect(ends).toEqual([{ type: 'tags', id: tag.id }]);
  });

  it('gets each error with its pointer', async () => {
    await expect(client().create('tags', { color: 'red' })).rejects.toMatchObject({
      errors: [
        { code: 'validation_failed', source: { pointer: '/data/attributes/color' } },
        { code: 'validation_failed', source: { pointer: '/data/attributes/name' } },
      ],
    });
  });
});

describe('the client devour', () => {
  const client = () => {
    const api = new Devour({
      apiUrl: `${app.url}/api/v1`,
      bearer: ADMIN_TOKEN,
      logger: false,
      pluralize: false,
    });
    const devices = { jsonApi: 'hasMany', type: 'devices' };
    api.define('tags', { name: '', color: '', devices });
    api.define('devices', { udid: '', asset_tag: '', tags: { jsonApi: 'hasMany', type: 'tags' } });
    return api;
  };

  it('creates, reads, lists, updates and deletes', async () => {
    const api = client();
    const udid = randomUUID();
    const { data: device } = await api.create('devices', { udid, asset_tag: 'A-1' });
    expect(device).toMatchObject({ id: expect.any(Number), udid, asset_tag: 'A-1' });
    expect((await api.find('devices', device.id)).data).toMatchObject({ id: device.id, udid });

    const query = { 'filter[udid]': udid, sort: 'udid', 'page[size]': 5 };
    const { data: list, meta } = await api.findAll('devices', query);
    expect(list.map(({ id }) => id)).toEqual([device.id]);
    expect(meta).toMatchObject({ count: 1, total: 1 });

    const { data: changed } = await api.update('devices', { id: device.id, asset_tag: 'A-2' });
    expect(changed).toMatchObject({ id: device.id, udid, asset_tag: 'A-2' });

    await api.destroy('devices', device.id);
    await expect(api.find('devices', device.id)).rejects.toMatchObject({
      0: { title: 'Not found', detail: `devices ${device.id} does not exist` },
    });
  });

  it('adds and removes relationships', async () => {
    const api = client();
    const { data: device } = await api.create('devices', { udid: randomUUID() });
    const { data: tag } = await api.create('tags', { name: randomUUID(), devices: [device] });
    const found = await api.find('tags', tag.id, { include: 'devices' });
    expect(found.data.devices).toMatchObject([{ id: device.id, udid: device.udid }]);

    const ends = api.one('tags', tag.id).relationships().all('devices');
    await ends.destroy([{ type: 'devices', id: device.id }]);
    const after = await api.find('tags', tag.id, { include: 'devices' });
    expect(after.data.devices).toEqual([]);
  });
});
