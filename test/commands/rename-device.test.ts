import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn } from '../helpers/device.js';
import { enrolledTarget } from './deliver.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

const MAC = { ProductName: 'Mac14,2', DeviceName: 'Old name' };
const IPHONE = { ProductName: 'iPhone14,5', DeviceName: 'Old name' };

function rename(id: number, attributes: Record<string, unknown>) {
  return adminApi(app).patch(`/devices/${id}`, { data: { type: 'devices', id, attributes } });
}

async function commandsOf(id: number) {
  return app.db.knex('commands').where({ device_id: id });
}

describe('renaming an enrolled device', () => {
  it('a rename queues one Settings command and leaves the columns until the device reports', async () => {
    const { device, id } = await enrolledTarget(app, MAC);
    const reply = await rename(id, { device_name: 'New name', hostname: 'new.example.com' });
    const [command, ...others] = await commandsOf(id);
    expect(others).toEqual([]);
    expect([reply.status, reply.body.meta]).toEqual([200, { queued_commands: [command.id] }]);
    expect(reply.body.data.attributes).toMatchObject({ device_name: 'Old name', hostname: null });
    expect(commandIn(await device.idle())?.command).toMatchObject({
      RequestType: 'Settings',
      Settings: [
        { Item: 'DeviceName', DeviceName: 'New name' },
        { Item: 'HostName', HostName: 'new.example.com' },
      ],
    });
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['a host name on an iPhone', IPHONE, { hostname: 'x' }, 'hostname'],
    ['no name at all', MAC, { device_name: null }, 'device_name'],
    ['an empty name', MAC, { device_name: '' }, 'device_name'],
    ['a character XML cannot hold', MAC, { device_name: 'a\u0001b' }, 'device_name'],
  ])('is 422 for %s, and nothing is queued', async (_what, facts, attributes, named) => {
    const { id } = await enrolledTarget(app, facts as Record<string, string>);
    const reply = await rename(id, attributes);
    expect(reply.status).toBe(422);
    expect(reply.body.errors[0].source).toEqual({ pointer: `/data/attributes/${named}` });
    expect(await commandsOf(id)).toEqual([]);
  });

  it('is 422 for an iPhone known not to be supervised', async () => {
    const { id } = await enrolledTarget(app, IPHONE);
    await app.db.knex('devices').where({ id }).update({ is_supervised: false });
    expect((await rename(id, { device_name: 'New' })).status).toBe(422);
    await app.db.knex('devices').where({ id }).update({ is_supervised: true });
    expect((await rename(id, { device_name: 'New' })).status).toBe(200);
    expect(await commandsOf(id)).toHaveLength(1);
  });

  it('changes other columns at once, in the same request', async () => {
    const { id } = await enrolledTarget(app, MAC);
    const reply = await rename(id, { device_name: 'New name', asset_tag: 'A-1' });
    expect(reply.body.data.attributes).toMatchObject({ device_name: 'Old name', asset_tag: 'A-1' });
  });
});

it('a device that is not enrolled has its new name at once', async () => {
  const { device, id } = await enrolledTarget(app, MAC);
  await device.checkOut();
  const reply = await rename(id, { device_name: 'New name', hostname: 'x' });
  expect([reply.status, reply.body.meta]).toEqual([200, undefined]);
  expect(reply.body.data.attributes).toMatchObject({ device_name: 'New name', hostname: 'x' });
  expect(await commandsOf(id)).toEqual([]);
});
