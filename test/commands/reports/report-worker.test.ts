import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { commandIn } from '../../helpers/device.js';
import { deliver, enrolledTarget, type Target } from '../deliver.js';

let app: TestApp;
let target: Target;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  target = await enrolledTarget(app);
});

function command(uuid: string) {
  return app.db.knex('commands').where({ uuid }).first();
}

async function restart(): Promise<void> {
  await app.halt();
  app = await startApp({ database: app.database });
}

const UNSTORABLE = { CellularTechnology: 2 ** 40, DeviceName: 'Not stored either' };

describe('a report whose values cannot be stored', () => {
  it('is answered 200, is marked, and leaves no partial rows', async () => {
    const requestType = 'DeviceInformation';
    const parameters = { Queries: ['DeviceName'] };
    const body = { QueryResponses: UNSTORABLE };
    const uuid = await deliver(app, target, { requestType, parameters, body });
    expect(await command(uuid)).toMatchObject({
      status: 'Acknowledged',
      needs_handling: false,
      reason: 'the answer could not be read; see the log',
      result: expect.any(Buffer),
    });
    const device = await app.db.knex('devices').where({ id: target.id }).first();
    expect(device).toMatchObject({ cellular_technology: null, device_name: 'Test device' });
    expect(app.logLines).toContainEqual(
      expect.objectContaining({ level: 50, msg: 'a report could not be read' }),
    );
  });

  it('delays neither the next command nor the next report', async () => {
    const { device, id } = target;
    const document = commandDocument(id, 'SecurityInfo');
    const bad = await adminApi(app).post(
      '/commands',
      commandDocument(id, 'DeviceInformation', { parameters: { Queries: ['DeviceName'] } }),
    );
    const good = await adminApi(app).post('/commands', document);
    await device.idle();
    const { uuid } = bad.body.data.attributes;
    const reply = await device.report(uuid, 'Acknowledged', { QueryResponses: UNSTORABLE });
    expect(commandIn(reply)?.uuid).toBe(good.body.data.attributes.uuid);
    await device.report(good.body.data.attributes.uuid, 'Acknowledged', {
      SecurityInfo: { PasscodePresent: true },
    });
    await app.waitForReports();
    const row = await app.db.knex('devices').where({ id }).first();
    expect(row.passcode_present).toBe(true);
  });
});

describe('the sweep', () => {
  async function storedCommand(columns: Record<string, unknown>): Promise<string> {
    const uuid = crypto.randomUUID();
    await app.db.knex('commands').insert({
      uuid,
      device_id: target.id,
      request_type: 'SecurityInfo',
      payload: buildPlist({ Command: {} }),
      ...columns,
    });
    return uuid;
  }

  it('at the start picks up the reports that a crash left', async () => {
    const result = buildPlist({ SecurityInfo: { PasscodePresent: true } });
    const left = { status: 'Acknowledged', needs_handling: true };
    const uuid = await storedCommand({ ...left, result });
    const odd = await storedCommand({ ...left, result: Buffer.from('no plist') });
    await restart();
    await app.waitForReports();
    expect(await command(uuid)).toMatchObject({ needs_handling: false, reason: null });
    expect((await command(odd)).reason).toBe('the answer could not be read; see the log');
    const row = await app.db.knex('devices').where({ id: target.id }).first();
    expect(row.passcode_present).toBe(true);
  });

  it('handles the reports of one device in their order', async () => {
    for (let at = 0; at < 6; at += 1) {
      const result = buildPlist({ SecurityInfo: { AutoLockTime: at } });
      await storedCommand({ status: 'Acknowledged', needs_handling: true, result });
    }
    await restart();
    await app.waitForReports();
    const row = await app.db.knex('devices').where({ id: target.id }).first();
    expect(row.auto_lock_time).toBe(5);
  });

  it('skips a report that another process has locked, and finds it later', async () => {
    const result = buildPlist({ InstalledApplicationList: [{ Name: 'Later' }] });
    const uuid = await storedCommand({
      status: 'Acknowledged',
      needs_handling: true,
      result,
      request_type: 'InstalledApplicationList',
    });
    const blocker = await app.db.knex.transaction();
    await blocker.raw("set local lock_timeout = '5s'");
    await blocker('commands').where({ uuid }).forUpdate().first();
    await restart();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await command(uuid)).needs_handling).toBe(true);
    await blocker.rollback();
    await restart();
    await app.waitForReports();
    const rows = await app.db.knex('installed_applications').where({ device_id: target.id });
    expect(rows).toMatchObject([{ name: 'Later' }]);
  });
});
