import type { Knex } from 'knex';
import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, type TestDevice } from '../../helpers/device.js';

const STATUSES = [
  'Queued',
  'Sent',
  'NotNow',
  'Acknowledged',
  'Error',
  'CommandFormatError',
  'Expired',
  'Cancelled',
];

let app: TestApp;
let knex: Knex;
let device: TestDevice;
let deviceId: number;

beforeAll(async () => {
  app = await startApp();
  knex = app.db.knex;
  device = await (await createTestDevice(app)).enroll();
  deviceId = (await knex('devices').where({ udid: device.udid }).first('id')).id;
});
beforeEach(() => knex('commands').delete());
afterAll(() => app.stop());

async function queue(attributes = {}): Promise<{ id: number; uuid: string }> {
  const document = commandDocument(deviceId, 'ProfileList', attributes);
  const { status, body } = await adminApi(app).post('/commands', document);
  expect(status).toBe(201);
  return { id: body.data.id, uuid: body.data.attributes.uuid };
}

async function idsOf(status: string): Promise<{ ids: number[]; total: number }> {
  const { body } = await adminApi(app).get(`/commands?filter[status]=${status}&page[size]=2`);
  const ids = body.data.map(({ id }: { id: number }) => id);
  return { ids, total: body.meta.total };
}

function ended(): Promise<{ command_id: number; status: string }[]> {
  return knex('ended_commands').orderBy('command_id').select('command_id', 'status');
}

describe('commands by status', () => {
  it('are found however they ended, and are not listed once they are deleted', async () => {
    const commands = [];
    for (const status of STATUSES) commands.push({ status, ...(await queue()) });
    for (const { id, status } of commands) await knex('commands').where({ id }).update({ status });
    for (const { id, status } of commands) {
      expect([status, await idsOf(status)]).toEqual([status, { ids: [id], total: 1 }]);
    }
    const last = commands.slice(4).map(({ id, status }) => ({ command_id: id, status }));
    expect(await ended()).toEqual(last);
    expect(await idsOf('Error,Cancelled')).toEqual({
      ids: [commands[4]?.id, commands[7]?.id],
      total: 2,
    });
    expect((await idsOf('Queued,Error')).total).toBe(2);
    await knex('commands').where({ id: commands[4]?.id }).delete();
    expect(await idsOf('Error')).toEqual({ ids: [], total: 0 });
    expect((await ended()).map(({ status }) => status)).toEqual([
      'CommandFormatError',
      'Expired',
      'Cancelled',
    ]);
  });

  it('follow a device that executes what was cancelled, and one that reports twice', async () => {
    const { id, uuid } = await queue();
    await device.idle();
    const change = { data: { type: 'commands', id, attributes: { status: 'Cancelled' } } };
    expect((await adminApi(app).patch(`/commands/${id}`, change)).status).toBe(200);
    expect(await ended()).toEqual([{ command_id: id, status: 'Cancelled' }]);
    await device.report(uuid, 'Error');
    expect(await ended()).toEqual([{ command_id: id, status: 'Error' }]);
    expect((await idsOf('Error')).ids).toEqual([id]);
    expect((await idsOf('Cancelled')).ids).toEqual([]);
    await device.report(uuid, 'Error');
    expect(await ended()).toEqual([{ command_id: id, status: 'Error' }]);
  });

  it('keep the total of a list that is longer than its page', async () => {
    const made = [];
    for (let count = 0; count < 3; count += 1) made.push((await queue()).id);
    expect(await idsOf('Queued')).toEqual({ ids: made.slice(0, 2), total: 3 });
    await knex('commands').update({ status: 'Expired' });
    expect(await idsOf('Expired')).toEqual({ ids: made.slice(0, 2), total: 3 });
  });
});
