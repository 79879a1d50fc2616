import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { type Answer, ReportSetup } from './report-setup.js';

const WARN = 40;
const ERROR = 50;
const GIVEN_UP = 'the answer could not be read; see the log';

let setup: ReportSetup;

beforeAll(async () => {
  setup = await ReportSetup.create();
});
afterEach(() => setup.clear());
afterAll(() => setup.test.drop());

describe('a batch of reports', () => {
  it('writes to each device what it reported, and keeps what it did not report', async () => {
    const [first = 0, second = 0, third = 0, fourth = 0] = await setup.storeDevices(4, {
      hostname: 'old.example.com',
      battery_level: 0.5,
    });
    const date = new Date('2026-11-01T10:20:30Z');
    await setup.handle([
      { deviceId: first, answers: { DeviceName: 'One', BatteryLevel: 0.81, HostName: '' } },
      { deviceId: second, answers: { Languages: ['en', 'de'], QuotaSize: 2n ** 40n } },
      { deviceId: third, answers: { LastCloudBackupDate: date, IsSupervised: false } },
      { deviceId: fourth, answers: { DeviceCapacity: Number.NaN, OrganizationInfo: { A: 'b' } } },
    ]);
    const old = { hostname: 'old.example.com', battery_level: 0.5 };
    const names = ['device_name', 'languages', 'quota_size', 'last_cloud_backup_date'];
    const others = ['is_supervised', 'device_capacity', 'organization_info'];
    const none = Object.fromEntries([...names, ...others].map((name) => [name, null]));
    expect(await setup.devices('hostname', 'battery_level', ...names, ...others)).toEqual([
      { ...none, hostname: null, battery_level: 0.81, device_name: 'One' },
      { ...none, ...old, languages: ['en', 'de'], quota_size: 2 ** 40 },
      { ...none, ...old, last_cloud_backup_date: date, is_supervised: false },
      { ...none, ...old, device_capacity: Number.NaN, organization_info: { A: 'b' } },
    ]);
    expect(await setup.waiting()).toBe(0);
  });

  it('does not write a device that reports what is known', async () => {
    const [same = 0, other = 0] = await setup.storeDevices(2);
    const answers = (DeviceName: string) => ({ DeviceName, BatteryLevel: 0.1, Locales: ['de_DE'] });
    const both = [same, other].map((deviceId) => ({ deviceId, answers: answers('Mac') }));
    await setup.handle(both);
    const before = await setup.devices('id', setup.test.db.knex.raw('xmin::text') as never);
    await setup.handle([
      { deviceId: same, answers: answers('Mac') },
      { deviceId: other, answers: answers('Another') },
    ]);
    const after = await setup.devices('id', setup.test.db.knex.raw('xmin::text') as never);
    expect(after[0]).toEqual(before[0]);
    expect(after[1].xmin).not.toBe(before[1].xmin);
    expect(await setup.devices('device_name')).toEqual([
      { device_name: 'Mac' },
      { device_name: 'Another' },
    ]);
  });

  it('handles the reports of one device in their order', async () => {
    const ids = await setup.storeDevices(30);
    const names = ['first', 'second', 'third'];
    await setup.handle(
      names.flatMap((DeviceName) => ids.map((deviceId) => ({ deviceId, answers: { DeviceName } }))),
    );
    expect(await setup.devices('device_name')).toEqual(Array(30).fill({ device_name: 'third' }));
  });

  it('queues supervised inventory once for each device that is newly supervised', async () => {
    const [known = 0] = await setup.storeDevices(1, { is_supervised: true });
    const [left = 0] = await setup.storeDevices(1, { enrollment_state: 'unenrolled' });
    const fresh = await setup.storeDevices(2);
    const reports = [known, left, ...fresh].map((deviceId) => ({
      deviceId,
      answers: { IsSupervised: true },
    }));
    await setup.handle(reports);
    const queued = await setup.test.db
      .knex('commands')
      .where({ status: 'Queued' })
      .orderBy('id')
      .select('device_id', 'request_type');
    const [one = 0, two = 0] = fresh;
    const types = queued.filter(({ device_id }) => device_id === one);
    expect(types.map(({ request_type }) => request_type)).toContain('DeviceInformation');
    expect(queued).toEqual([...types, ...types.map((row) => ({ ...row, device_id: two }))]);
  });
});

describe('one bad report in a batch', () => {
  it.each([
    ['values that cannot be stored', { answers: { CellularTechnology: 2 ** 40, HostName: 'x' } }],
    ['bytes that are no property list', { result: Buffer.from('no plist') }],
  ])('with %s fails alone; the others are written', async (_fault, bad) => {
    const ids = await setup.storeDevices(20);
    const reports: Answer[] = ids.map((deviceId) => ({
      deviceId,
      answers: { DeviceName: `Mac ${deviceId}` },
    }));
    const [spoiled = 0] = ids.slice(7);
    reports[7] = { deviceId: spoiled, ...bad };
    const commands = await setup.handle(reports);
    expect(await setup.devices('device_name', 'hostname')).toEqual(
      ids.map((id) => ({ device_name: id === spoiled ? null : `Mac ${id}`, hostname: null })),
    );
    const rows = await setup.test.db
      .knex('commands')
      .orderBy('id')
      .select('needs_handling', 'reason');
    expect(rows).toEqual(
      ids.map((id) => ({ needs_handling: false, reason: id === spoiled ? GIVEN_UP : null })),
    );
    expect(setup.logged(ERROR)).toMatchObject([
      { commandId: commands[7], msg: 'a report could not be read' },
    ]);
  });

  it('a serial number that two devices report is stored for the first', async () => {
    const [first = 0, second = 0] = await setup.storeDevices(2);
    const answers = { SerialNumber: 'C02MT66KFLHH' };
    await setup.handle([first, second].map((deviceId) => ({ deviceId, answers })));
    expect(await setup.devices('serial_number')).toEqual([
      { serial_number: 'C02MT66KFLHH' },
      { serial_number: null },
    ]);
    expect(setup.logged(WARN)).toMatchObject([
      { deviceId: second, msg: 'a device reports the serial number of another one' },
    ]);
  });
});

describe('beside other transactions', () => {
  it('a locked device delays its own report only', async () => {
    const ids = await setup.storeDevices(10);
    const [locked = 0] = ids;
    const commands = await setup.storeReports(
      ids.map((deviceId) => ({ deviceId, answers: { DeviceName: 'Mac' } })),
    );
    const blocker = await setup.test.db.knex.transaction();
    await blocker('devices').where({ id: locked }).forUpdate().first();
    const worker = setup.createWorker();
    ids.forEach((deviceId, at) => {
      worker.submit({ id: commands[at] ?? 0, deviceId });
    });
    await setup.untilWaiting(1);
    expect(await setup.devices('device_name')).toEqual([
      { device_name: null },
      ...Array(9).fill({ device_name: 'Mac' }),
    ]);
    await blocker.rollback();
    await worker.drain();
    expect(await setup.waiting()).toBe(0);
    expect(await setup.devices('device_name')).toEqual(Array(10).fill({ device_name: 'Mac' }));
  });

  it('a device that enrolled again in between is written, and not counted as enrolled', async () => {
    const [deviceId = 0] = await setup.storeDevices(1);
    const answers = { DeviceName: 'Mac', IsSupervised: true };
    const commands = await setup.storeReports([{ deviceId, answers }]);
    const again = await setup.test.db.knex.transaction();
    await again('devices')
      .where({ id: deviceId })
      .update({ enrollment_state: 'authenticated', enrollment_number: 2, is_enrolled: false });
    const worker = setup.createWorker();
    worker.submit({ id: commands[0] ?? 0, deviceId });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await again.commit();
    await worker.drain();
    expect(await setup.devices('device_name', 'enrollment_number')).toEqual([
      { device_name: 'Mac', enrollment_number: 2 },
    ]);
    expect(await setup.test.db.knex('commands').where({ status: 'Queued' })).toEqual([]);
  });

  it('two processes handle each report once, those of a device in order', async () => {
    await setup.test.db.knex.raw(`
      create table handled (id bigint);
      create function note_handled() returns trigger language plpgsql as $$
      begin insert into handled values (new.id); return null; end $$;
      create trigger note_handled after update of needs_handling on commands
        for each row when (old.needs_handling and not new.needs_handling)
        execute function note_handled()`);
    const ids = await setup.storeDevices(100);
    const names = ['1', '2', '3', '4', '5', '6'];
    const commands = await setup.storeReports(
      names.flatMap((DeviceName) => ids.map((deviceId) => ({ deviceId, answers: { DeviceName } }))),
    );
    for (const worker of [setup.createWorker(), setup.createWorker()]) worker.start();
    await setup.untilWaiting(0);
    await setup.drain();
    const handled = await setup.test.db.knex('handled').orderBy('id').pluck('id');
    await setup.test.db.knex.raw('drop table handled; drop function note_handled() cascade');
    expect(handled).toEqual(commands);
    expect(await setup.devices('device_name')).toEqual(Array(100).fill({ device_name: '6' }));
    expect(setup.logged(ERROR)).toEqual([]);
  });
});

it('a batch of SecurityInfo stores the new recovery keys of each device once', async () => {
  const [one = 0, two = 0] = await setup.storeDevices(2);
  const answer = (deviceId: number, key: string, AutoLockTime: number): Answer => ({
    deviceId,
    requestType: 'SecurityInfo',
    result: buildPlist({
      SecurityInfo: { FDE_PersonalRecoveryKeyDeviceKey: key, AutoLockTime },
    }),
  });
  await setup.handle([answer(one, 'same', 1), answer(two, 'same', 2)]);
  await setup.handle([answer(one, 'same', 1), answer(two, 'other', 3)]);
  const secrets = await setup.test.db
    .knex('device_secrets')
    .orderBy(['device_id', 'id'])
    .select('device_id', 'kind');
  const kind = 'fde_personal_recovery_key_device_key';
  expect(secrets).toEqual([one, two, two].map((device_id) => ({ device_id, kind })));
  expect(await setup.devices('auto_lock_time')).toEqual([
    { auto_lock_time: 1 },
    { auto_lock_time: 3 },
  ]);
});
