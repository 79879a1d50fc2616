import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';

let app: TestApp;

// Nothing is pushed here: what is due stays to be seen.
beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

async function idOf({ udid }: TestDevice): Promise<number> {
  const { id } = await app.db.knex('devices').where({ udid }).first('id');
  return id;
}

interface Row {
  attempts: number;
  due_in: number;
}

async function pushRow(device_id: number): Promise<Row | undefined> {
  return app.db
    .knex('device_pushes')
    .where({ device_id })
    .first('attempts', app.db.knex.raw('extract(epoch from due_at - now())::float8 as due_in'));
}

async function enrolled(): Promise<{ device: TestDevice; id: number }> {
  const device = await (await createTestDevice(app)).enroll();
  return { device, id: await idOf(device) };
}

/** As after its conversation: nothing waits, and no push is due. */
async function idle(): Promise<{ device: TestDevice; id: number }> {
  const target = await enrolled();
  await app.db.knex('commands').where({ device_id: target.id }).delete();
  await app.db.knex('device_pushes').delete();
  return target;
}

async function queue(id: number, attributes = {}): Promise<number> {
  const reply = await adminApi(app).post(
    '/commands',
    commandDocument(id, 'ProfileList', attributes),
  );
  expect(reply.status).toBe(201);
  return reply.body.data.id;
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('a device', () => {
  it('is not to be pushed before its TokenUpdate', async () => {
    const device = await createTestDevice(app);
    await device.authenticate();
    expect(await pushRow(await idOf(device))).toBeUndefined();
  });

  it('is to be pushed as soon as it has enrolled, for its first inventory', async () => {
    const { id } = await enrolled();
    expect((await pushRow(id))?.due_in).toBeLessThanOrEqual(0);
    const { enrolled_at } = await app.db.knex('devices').where({ id }).first();
    expect(await app.db.knex('device_inventories').where({ device_id: id })).toEqual([
      { device_id: id, queued_at: enrolled_at },
    ]);
  });

  it('is not to be pushed after a further TokenUpdate with nothing to fetch', async () => {
    const { device, id } = await idle();
    await device.tokenUpdate();
    expect(await pushRow(id)).toBeUndefined();
  });

  it('is to be pushed at once after a further TokenUpdate when something waits', async () => {
    const { device, id } = await idle();
    await queue(id);
    const later = app.db.knex.raw("now() + interval '4 hours'");
    await app.db.knex('device_pushes').update({ due_at: later, attempts: 4 });
    await device.tokenUpdate();
    const row = await pushRow(id);
    expect(row?.attempts).toBe(0);
    expect(row?.due_in).toBeLessThanOrEqual(0);
  });

  it('whose push token was unregistered is pushed again after its TokenUpdate', async () => {
    const { device, id } = await idle();
    const facts = { push_state: 'unregistered', last_push_result: 'Unregistered' };
    await app.db
      .knex('devices')
      .where({ id })
      .update({ ...facts, failed_push_count: 3 });
    await queue(id);
    expect(await pushRow(id)).toBeUndefined();
    await device.tokenUpdate();
    expect(await app.db.knex('devices').where({ id }).first()).toMatchObject({
      push_state: 'ok',
      last_push_result: null,
      failed_push_count: 0,
    });
    expect((await pushRow(id))?.due_in).toBeLessThanOrEqual(0);
  });

  it('is not to be pushed any more once it has checked out', async () => {
    const { device, id } = await enrolled();
    await device.checkOut();
    expect(await pushRow(id)).toBeUndefined();
  });

  it('leaves no request behind when it is deleted', async () => {
    const { id } = await enrolled();
    expect((await adminApi(app).delete(`/devices/${id}`)).status).toBe(204);
    expect(await pushRow(id)).toBeUndefined();
  });
});

describe('the push of a device', () => {
  it('is due now for a command, and later for a command with a later date', async () => {
    const [now, later] = [await idle(), await idle()];
    await queue(now.id);
    await queue(later.id, { after: inAnHour() });
    expect((await pushRow(now.id))?.due_in).toBeLessThanOrEqual(0);
    expect((await pushRow(later.id))?.due_in).toBeGreaterThan(3_500);
    await queue(later.id);
    expect((await pushRow(later.id))?.due_in).toBeLessThanOrEqual(0);
  });

  it('is due earlier when its command becomes due earlier', async () => {
    const { id } = await idle();
    const command = await queue(id, { after: inAnHour() });
    const data = { type: 'commands', id: command, attributes: { after: null } };
    expect((await adminApi(app).patch(`/commands/${command}`, { data })).status).toBe(200);
    expect((await pushRow(id))?.due_in).toBeLessThanOrEqual(0);
  });

  it('is not due for a command that is cancelled', async () => {
    const { id } = await idle();
    const command = await queue(id);
    await app.db.knex('device_pushes').delete();
    const data = { type: 'commands', id: command, attributes: { status: 'Cancelled' } };
    expect((await adminApi(app).patch(`/commands/${command}`, { data })).status).toBe(200);
    expect(await pushRow(id)).toBeUndefined();
  });

  it('is due for a command that is moved to the device', async () => {
    const [from, to] = [await idle(), await idle()];
    const command = await queue(from.id);
    const path = `/devices/${to.id}/relationships/commands`;
    const reply = await adminApi(app).post(path, { data: [{ type: 'commands', id: command }] });
    expect(reply.status).toBe(200);
    expect((await pushRow(to.id))?.due_in).toBeLessThanOrEqual(0);
  });

  it('is due for an inventory and for a new name', async () => {
    const [one, other] = [await idle(), await idle()];
    await app.db.knex('devices').update({ is_supervised: true });
    const yesterday = new Date(Date.now() - 86_400_000);
    await app.db.knex('device_inventories').update({ queued_at: yesterday });
    const before = Date.now();
    expect((await adminApi(app).post(`/devices/inventory/${one.id}`)).status).toBe(201);
    const times = app.db.knex('device_inventories').whereIn('device_id', [one.id, other.id]);
    const [ofOne, ofOther] = await times.orderBy('device_id').pluck('queued_at');
    expect(ofOne.getTime()).toBeGreaterThanOrEqual(before - 1_000);
    expect(ofOther).toEqual(yesterday);
    const data = { type: 'devices', id: other.id, attributes: { device_name: 'Kiosk' } };
    expect((await adminApi(app).patch(`/devices/${other.id}`, { data })).status).toBe(200);
    for (const { id } of [one, other]) expect((await pushRow(id))?.due_in).toBeLessThanOrEqual(0);
  });

  it('is due a little later for queries that its own report caused', async () => {
    const { device, id } = await idle();
    await adminApi(app).post(
      '/commands',
      commandDocument(id, 'DeviceInformation', { parameters: { Queries: ['IsSupervised'] } }),
    );
    const [{ uuid }] = await app.db.knex('commands').where({ device_id: id });
    await device.idle();
    await app.db.knex('device_pushes').delete();
    await device.report(uuid, 'Acknowledged', { QueryResponses: { IsSupervised: true } });
    await app.waitForReports();
    const row = await pushRow(id);
    expect(row?.due_in).toBeGreaterThan(3);
    expect(row?.due_in).toBeLessThanOrEqual(10);
  });
});
