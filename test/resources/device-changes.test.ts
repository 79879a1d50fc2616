import { createHash } from 'node:crypto';
import { createToken } from '../../src/auth/api-tokens.js';
import { createPruneRecordsTask } from '../../src/jobs/tasks/batch-tasks.js';
import { failed, ManagedDevice } from '../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import type { Fields } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import { runTask } from '../jobs/tasks/run-task.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
});
afterAll(() => app.stop());
afterEach(() => app.db.knex('devices').delete());

const REPORTS: Record<string, Fields> = {
  DeviceInformation: {
    QueryResponses: {
      DeviceName: 'Test device',
      OSVersion: '26.1',
      BuildVersion: '23B1',
      BatteryLevel: 0.5,
      AvailableDeviceCapacity: 10,
    },
  },
  InstalledApplicationList: {
    InstalledApplicationList: [
      { Identifier: 'com.example.notes', Name: 'Notes', Version: '100', ShortVersion: '1.0' },
      { Identifier: 'com.example.maps', Name: 'Maps', Version: '7' },
    ],
  },
  ProfileList: {
    ProfileList: [
      { PayloadIdentifier: 'com.example.wifi', PayloadUUID: 'A', PayloadDisplayName: 'Wi-Fi' },
    ],
  },
};

/** Has the device asked, and answers with these reports. */
async function report(device: ManagedDevice, reports: Record<string, Fields>): Promise<void> {
  for (const request_type of Object.keys(reports)) {
    const parameters =
      request_type === 'DeviceInformation' ? { Queries: ['OSVersion', 'DeviceName'] } : {};
    const { status } = await api.post('/commands', {
      data: {
        type: 'commands',
        attributes: { request_type, parameters },
        relationships: { device: { data: { type: 'devices', id: device.id } } },
      },
    });
    expect(status).toBe(201);
  }
  await device.poll(({ RequestType: type }) => {
    const fields = reports[String(type)];
    return fields === undefined ? undefined : { status: 'Acknowledged', fields };
  });
  await app.waitForReports();
}

async function known(): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app);
  await device.poll(({ RequestType: type }) => {
    const fields = REPORTS[String(type)];
    return fields === undefined ? undefined : { status: 'Acknowledged', fields };
  });
  await app.waitForReports();
  await report(device, REPORTS);
  return device;
}

async function changesOf({ id }: ManagedDevice) {
  const { body } = await api.get(`/devices/${id}/changes?sort=id`);
  return body.data.map(({ attributes }: { attributes: Record<string, unknown> }) => {
    const { changed_at: at, ...rest } = attributes;
    expect(typeof at).toBe('string');
    return rest;
  });
}

const ATTRIBUTE = { kind: 'attribute', change: 'changed', name: null };
const REPORTED = { cause: 'report', caused_by: null };

describe('changes of a device', () => {
  it('are not stored while it becomes known, nor when it reports the same again', async () => {
    const device = await known();
    await report(device, REPORTS);
    expect(await changesOf(device)).toEqual([]);
  });

  it('are one row for each changed attribute, except those that always change', async () => {
    const device = await known();
    const QueryResponses = {
      DeviceName: 'iPad of Ben',
      OSVersion: '26.2',
      BuildVersion: '23B1',
      BatteryLevel: 0.4,
      AvailableDeviceCapacity: 9,
    };
    await report(device, { DeviceInformation: { QueryResponses } });
    await report(device, { DeviceInformation: { QueryResponses } });
    expect(await changesOf(device)).toEqual([
      {
        ...ATTRIBUTE,
        attribute: 'device_name',
        old: 'Test device',
        new: 'iPad of Ben',
        ...REPORTED,
      },
      { ...ATTRIBUTE, attribute: 'os_version', old: '26.1', new: '26.2', ...REPORTED },
    ]);
  });

  it('include applications and profiles that are added, removed and updated', async () => {
    const device = await known();
    await report(device, {
      InstalledApplicationList: {
        InstalledApplicationList: [
          { Identifier: 'com.example.Notes', Name: 'Notes', Version: '200', ShortVersion: '2.0' },
          { Identifier: 'com.example.mail', Name: 'Mail', Version: '3' },
        ],
      },
      ProfileList: {
        ProfileList: [
          { PayloadIdentifier: 'com.example.wifi', PayloadUUID: 'B', PayloadDisplayName: 'Wi-Fi' },
          { PayloadIdentifier: 'com.example.vpn', PayloadUUID: 'C', PayloadDisplayName: 'VPN' },
        ],
      },
    });
    const application = { kind: 'application', ...REPORTED };
    const profile = { kind: 'profile', ...REPORTED };
    const found = await changesOf(device);
    expect(found).toHaveLength(5);
    expect(found).toEqual(
      expect.arrayContaining([
        {
          ...application,
          change: 'changed',
          attribute: 'com.example.Notes',
          name: 'Notes',
          old: '1.0',
          new: '2.0',
        },
        {
          ...application,
          change: 'appeared',
          attribute: 'com.example.mail',
          name: 'Mail',
          old: null,
          new: '3',
        },
        {
          ...application,
          change: 'gone',
          attribute: 'com.example.maps',
          name: 'Maps',
          old: '7',
          new: null,
        },
        {
          ...profile,
          change: 'changed',
          attribute: 'com.example.wifi',
          name: 'Wi-Fi',
          old: 'A',
          new: 'B',
        },
        {
          ...profile,
          change: 'appeared',
          attribute: 'com.example.vpn',
          name: 'VPN',
          old: null,
          new: 'C',
        },
      ]),
    );
  });

  it('include certificates that are added and removed', async () => {
    const device = await known();
    const list = (...names: string[]) => ({
      CertificateList: {
        CertificateList: names.map((name) => ({ CommonName: name, Data: Buffer.from(name) })),
      },
    });
    await report(device, list('one', 'two'));
    expect(await changesOf(device)).toEqual([]);
    await report(device, list('two', 'three'));
    const fingerprint = (name: string) => createHash('sha256').update(name).digest('hex');
    const certificate = { kind: 'certificate', old: null, new: null, ...REPORTED };
    expect(await changesOf(device)).toEqual([
      { ...certificate, change: 'gone', attribute: fingerprint('one'), name: 'one' },
      { ...certificate, change: 'appeared', attribute: fingerprint('three'), name: 'three' },
    ]);
  });

  it('name the command that caused them', async () => {
    const device = await known();
    const queue = async (request_type: string, parameters: object) => {
      const { status } = await api.post('/commands', {
        data: {
          type: 'commands',
          attributes: { request_type, parameters },
          relationships: { device: { data: { type: 'devices', id: device.id } } },
        },
      });
      expect(status).toBe(201);
    };
    await queue('RemoveProfile', { Identifier: 'com.example.wifi' });
    await device.poll(({ RequestType: type }) =>
      type === 'RemoveProfile' ? { status: 'Acknowledged' } : undefined,
    );
    await app.waitForReports();
    expect((await changesOf(device))[0]).toEqual({
      ...{ kind: 'profile', change: 'gone', attribute: 'com.example.wifi', name: 'Wi-Fi' },
      ...{ old: 'A', new: null, cause: 'command', caused_by: 'RemoveProfile' },
    });
    await queue('RemoveProfile', { Identifier: 'com.example.vpn' });
    await device.poll(({ RequestType: type }) =>
      type === 'RemoveProfile' ? failed('No.') : undefined,
    );
    await app.waitForReports();
    const gone = (await changesOf(device)).filter(
      ({ change }: { change: string }) => change === 'gone',
    );
    expect(gone).toHaveLength(1);
  });

  it('name the token of the admin', async () => {
    const [{ id }] = (await app.db
      .knex('devices')
      .insert({ serial_number: 'C02A', asset_tag: 'old' })
      .returning<{ id: number }[]>('id')) as [{ id: number }];
    const attributes = { asset_tag: 'new' };
    const answer = await api.patch(`/devices/${id}`, { data: { type: 'devices', id, attributes } });
    expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
    const { body } = await api.get('/device_changes');
    expect(body.data).toMatchObject([
      {
        attributes: {
          attribute: 'asset_tag',
          old: 'old',
          new: 'new',
          cause: 'admin',
          caused_by: 'ADMIN_TOKEN',
        },
        relationships: { device: { data: { type: 'devices', id } } },
      },
    ]);
  });

  it('include the end of an enrollment and the next one, but not facts that are reported again', async () => {
    const device = await known();
    await device.wire.checkIn('CheckOut');
    await device.wire.enroll();
    await app.waitForReports();
    expect(await changesOf(device)).toEqual([
      {
        ...ATTRIBUTE,
        attribute: 'is_enrolled',
        old: 'true',
        new: 'false',
        cause: 'enrollment',
        caused_by: null,
      },
      {
        ...ATTRIBUTE,
        attribute: 'is_enrolled',
        old: 'false',
        new: 'true',
        cause: 'enrollment',
        caused_by: null,
      },
    ]);
  });

  it('are listed for all devices, open to viewers, and filtered', async () => {
    const [one, other] = [await known(), await known()];
    const answers = (DeviceName: string) => ({
      DeviceInformation: { QueryResponses: { DeviceName, OSVersion: '26.1' } },
    });
    await report(one, answers('first'));
    await report(other, answers('second'));
    const actor = { name: 'tests', role: 'admin' as const };
    const context = { requestId: 'x', actor, sourceAddress: null };
    const { token } = await createToken(app.db, { name: 'reader', role: 'viewer' }, context);
    const viewer = adminApi(app, token);
    const list = async (query: string) => {
      const { status, body } = await viewer.get(`/device_changes?${query}`);
      expect([status, body.errors]).toEqual([200, undefined]);
      return body.data.map(({ attributes }: { attributes: { new: string } }) => attributes.new);
    };
    expect(await list('filter[attribute]=device_name&sort=-id')).toEqual(['second', 'first']);
    expect(await list(`filter[attribute]=device_name&filter[device]=${one.id}`)).toEqual(['first']);
    expect(await list('filter[cause]=admin')).toEqual([]);
    expect(await list('page[size]=1&sort=-changed_at&filter[attribute]=device_name')).toEqual([
      'second',
    ]);
    const wrong = await viewer.get('/device_changes?sort=nothing');
    expect(wrong.status).toBe(400);
    const [{ id }] = (await app.db.knex('device_changes').select('id')) as [{ id: number }];
    expect((await viewer.get(`/device_changes/${id}`)).status).toBe(200);
    expect((await api.delete(`/device_changes/${id}`)).status).toBe(405);
  });

  it('are removed after CHANGE_RETENTION, and with their device', async () => {
    const device = await known();
    const row = { device_id: device.id, kind: 'attribute', change: 'changed', cause: 'report' };
    const old = (days: number) => app.db.knex.raw("now() - ? * interval '1 day'", [days]);
    await app.db.knex('device_changes').insert([
      { ...row, attribute: 'os_version', changed_at: old(3) },
      { ...row, attribute: 'device_name', changed_at: old(1) },
    ]);
    const { logger, lines } = capturingLogger();
    const prune = (changeRetention: number | undefined) =>
      runTask(createPruneRecordsTask({ db: app.db, logger, changeRetention }));
    await prune(undefined);
    const both = ['os_version', 'device_name'];
    expect(await app.db.knex('device_changes').pluck('attribute')).toEqual(both);
    await prune(2 * 86_400_000);
    await prune(2 * 86_400_000);
    expect(await app.db.knex('device_changes').pluck('attribute')).toEqual(both);
    const notices = lines.filter(({ level }) => level === 40);
    expect(notices.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(
        /^1 changes of devices were written more than 2 days ago \(CHANGE_RETENTION\) and are removed from \S+Z on; set CHANGE_RETENTION=off to keep them$/,
      ),
    ]);
    const announced_at = app.db.knex.raw("now() - interval '25 hours'");
    await app.db.knex('change_retention').update({ announced_at });
    await prune(2 * 86_400_000);
    expect(await app.db.knex('device_changes').pluck('attribute')).toEqual(['device_name']);
    expect((await api.delete(`/devices/${device.id}`)).status).toBe(204);
    expect(await app.db.knex('device_changes').first()).toBeUndefined();
  });
});
