import { createToken } from '../../src/auth/api-tokens.js';
import { ManagedDevice } from '../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { addDevices, batchWorkerOf, tagDevices } from './batch-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false, env: { CONFIRM_ABOVE: '3' } });
  api = adminApi(app);
});
afterAll(() => app.stop());

function inventoryOf(tag: number, meta?: object) {
  const tags = { data: [{ type: 'tags', id: tag }] };
  return { data: { type: 'command_batches', relationships: { tags } }, ...(meta && { meta }) };
}

describe('the inventory of many devices', () => {
  it('is a batch for each query that one of the devices can answer', async () => {
    const device = await ManagedDevice.enroll(app);
    const tag = await tagDevices(app, 'lab', [device.id]);
    await app.db
      .knex('devices')
      .where({ id: device.id })
      .update({ platform: 'iOS', os_version: '26.1', is_supervised: true });
    const { status, body } = await api.post('/devices/inventory', inventoryOf(tag));
    expect([status, body.errors]).toEqual([202, undefined]);
    const types = body.data.map(
      ({ attributes }: { attributes: { request_type: string } }) => attributes.request_type,
    );
    expect(types).toEqual([
      'DeviceInformation',
      'InstalledApplicationList',
      'CertificateList',
      'SecurityInfo',
      'ProfileList',
      'AvailableOSUpdates',
    ]);
    await batchWorkerOf(app).run();
    const queued = await app.db
      .knex('commands')
      .where({ device_id: device.id })
      .whereNotNull('command_batch_id')
      .orderBy('id')
      .pluck('request_type');
    expect(queued).toEqual(types);
    const [first] = await app.db.knex('audit_events').orderBy('id', 'desc').limit(1);
    expect([first.action, first.details.batches]).toEqual([
      'devices.inventory_of_many',
      body.data.map(({ id }: { id: number }) => id),
    ]);
  });

  it('is confirmed as a batch is', async () => {
    const ids = await addDevices(app, 4);
    const tag = await tagDevices(app, 'four', ids);
    const refused = await api.post('/devices/inventory', inventoryOf(tag));
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      409,
      { code: 'confirmation_required', meta: { confirm: 4 } },
    ]);
    const path = '/devices/inventory';
    expect((await api.post(path, inventoryOf(tag, { confirm: 4 }))).status).toBe(202);
  });

  it('shows the result for each query beforehand, and stores nothing', async () => {
    const ids = await addDevices(app, 5);
    const facts = { platform: 'macOS', os_version: '27.0', is_supervised: true };
    await app.db.knex('devices').whereIn('id', ids).update(facts);
    const tag = await tagDevices(app, 'five', ids);
    const stored = await app.db.knex('command_batches').count();
    const path = '/devices/inventory?dry_run=true';
    const { status, body } = await api.post(path, inventoryOf(tag));
    expect([status, body.meta.confirm]).toEqual([200, 5]);
    type Preview = { request_type: string; confirm?: number; targets: Record<string, unknown> };
    const shown = (body.meta.batches as Preview[]).map((preview) => {
      const { matched, eligible, refused } = preview.targets;
      return [preview.request_type, preview.confirm, matched, eligible, refused];
    });
    expect(shown.slice(0, -1).map(([type]) => type)).toEqual([
      'DeviceInformation',
      'InstalledApplicationList',
      'CertificateList',
      'SecurityInfo',
      'ProfileList',
    ]);
    expect(shown[0]).toEqual(['DeviceInformation', 5, 5, 5, []]);
    const refused = [{ code: 'unsupported_on_os_version', count: 5, examples: ids }];
    expect(shown.at(-1)).toEqual(['AvailableOSUpdates', undefined, 5, 0, refused]);
    expect(await app.db.knex('command_batches').count()).toEqual(stored);
  });

  it('is refused without a device, without a target, and to a viewer', async () => {
    const empty = await tagDevices(app, 'empty', []);
    const none = await api.post('/devices/inventory', inventoryOf(empty));
    expect([none.status, none.body.errors[0].code]).toEqual([422, 'no_eligible_device']);
    const nobody = await api.post('/devices/inventory', { data: { type: 'command_batches' } });
    expect(nobody.status).toBe(422);
    const actor = { name: 'tests', role: 'admin' as const };
    const context = { requestId: 'x', actor, sourceAddress: null };
    const { token } = await createToken(app.db, { name: 'viewer', role: 'viewer' }, context);
    const { status } = await adminApi(app, token).post('/devices/inventory', inventoryOf(empty));
    expect(status).toBe(403);
  });
});
