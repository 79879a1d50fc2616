import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';

const FACTS = { QueryResponses: { DeviceName: 'Lobby', SerialNumber: 'C02XL0AAJGH5' } };

interface Row {
  id: number;
  uuid: string;
  needs_handling: boolean;
  result: Buffer | null;
}

/** An enrolled device that was offered its first inventory command. */
async function enroll(app: TestApp): Promise<{ device: TestDevice; uuid: string }> {
  const device = await (await createTestDevice(app)).enroll();
  const offered = commandIn(await device.idle());
  return { device, uuid: offered?.uuid ?? '' };
}

async function rowOf(app: TestApp, uuid: string): Promise<Row> {
  await app.waitForReports();
  return await app.db.knex('commands').where({ uuid }).first();
}

async function shown(app: TestApp, { id }: Row): Promise<unknown> {
  const { body } = await adminApi(app).get(`/commands/${id}`);
  return body.data.attributes.result;
}

describe('the answer to an inventory that the server queued by itself', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());

  it('is dropped once its facts are stored', async () => {
    const { device, uuid } = await enroll(app);
    await device.report(uuid, 'Acknowledged', FACTS);
    const row = await rowOf(app, uuid);
    expect(row).toMatchObject({ needs_handling: false, result: null, status: 'Acknowledged' });
    expect(await shown(app, row)).toBeNull();
    const facts = await app.db.knex('devices').where({ udid: device.udid }).first();
    expect(facts).toMatchObject({ device_name: 'Lobby', serial_number: 'C02XL0AAJGH5' });
  });

  it('stays when it is an error', async () => {
    const { device, uuid } = await enroll(app);
    await device.report(uuid, 'Error');
    expect((await rowOf(app, uuid)).result).toBeInstanceOf(Buffer);
  });

  it('is kept beside a dropped one when an admin has requested it', async () => {
    const { device } = await enroll(app);
    const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
    await app.db.knex('commands').where({ device_id: id }).delete();
    const document = commandDocument(id, 'DeviceInformation', {
      parameters: { Queries: ['DeviceName'] },
    });
    const { body } = await adminApi(app).post('/commands', document);
    const { uuid } = body.data.attributes;
    await device.idle();
    await device.report(uuid, 'Acknowledged', FACTS);
    const row = await rowOf(app, uuid);
    expect(row.needs_handling).toBe(false);
    expect(await shown(app, row)).toMatchObject(FACTS);
  });
});

describe('with KEEP_RESULTS', () => {
  it('every answer stays', async () => {
    const app = await startApp({ env: { KEEP_RESULTS: 'on' } });
    const { device, uuid } = await enroll(app);
    await device.report(uuid, 'Acknowledged', FACTS);
    expect(await shown(app, await rowOf(app, uuid))).toMatchObject(FACTS);
    await app.stop();
  });
});
