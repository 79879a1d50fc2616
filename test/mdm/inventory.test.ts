import type { PlistDict } from '../../src/protocol/plist/plist.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

interface Delivered {
  RequestType: string;
  Queries: string[];
}

/** Answers every command until there is none left, DeviceInformation with these facts. */
async function obeyAll(device: TestDevice, answers: Fields = {}): Promise<Delivered[]> {
  const delivered: Delivered[] = [];
  let next = commandIn(await device.idle());
  while (next !== undefined) {
    const { uuid, command } = next;
    delivered.push(command as PlistDict & Delivered);
    const isInformation = command.RequestType === 'DeviceInformation';
    const body = isInformation ? { QueryResponses: answers } : {};
    next = commandIn(await device.report(uuid, 'Acknowledged', body));
    await app.waitForReports();
    // What a handler queued comes after the answer was sent.
    next ??= commandIn(await device.idle());
  }
  return delivered;
}

function typesOf(commands: Delivered[]): string[] {
  return commands.map(({ RequestType }) => RequestType);
}

const EVERYWHERE = [
  'DeviceInformation',
  'InstalledApplicationList',
  'CertificateList',
  'SecurityInfo',
  'ProfileList',
];
const IPHONE = { ProductName: 'iPhone14,5', OSVersion: '17.4' };
const MAC = { ProductName: 'Mac14,2', Model: 'Mac14,2', ModelName: 'MacBook Air' };

describe('the first TokenUpdate', () => {
  it('queues for an iPhone every query but those for supervised devices', async () => {
    const device = await (await createTestDevice(app)).enroll(IPHONE);
    const delivered = await obeyAll(device, { IsSupervised: false, DeviceName: 'Phone' });
    expect(typesOf(delivered)).toEqual(EVERYWHERE);
    const queries = delivered[0]?.Queries ?? [];
    expect(queries).toEqual(
      expect.arrayContaining(['UDID', 'IsSupervised', 'OSVersion', 'IMEI', 'ServiceSubscriptions']),
    );
    expect(queries).not.toContain('OSUpdateSettings');
    expect(queries).not.toContain('DevicePropertiesAttestation');
    expect(new Set(queries).size).toBe(queries.length);
  });

  it('queues the rest once the iPhone has reported that it is supervised, and only once', async () => {
    const device = await (await createTestDevice(app)).enroll(IPHONE);
    const delivered = await obeyAll(device, { IsSupervised: true });
    expect(typesOf(delivered).slice(0, 5)).toEqual(EVERYWHERE);
    expect(typesOf(delivered).slice(5)).toEqual(['DeviceInformation', 'AvailableOSUpdates']);
    const [first, later] = [delivered[0]?.Queries ?? [], delivered[5]?.Queries ?? []];
    expect(later.length).toBeGreaterThan(0);
    expect(later.filter((query) => first.includes(query))).toEqual([]);
    const row = await app.db.knex('devices').where({ udid: device.udid }).first();
    expect(row.is_supervised).toBe(true);
  });

  it('queues for a Mac the queries for updates and their settings, too', async () => {
    const device = await (await createTestDevice(app)).enroll({ ...MAC, OSVersion: '14.5' });
    const delivered = await obeyAll(device);
    expect(typesOf(delivered)).toEqual([...EVERYWHERE, 'AvailableOSUpdates']);
    expect(delivered[0]?.Queries).toEqual(
      expect.arrayContaining(['OSUpdateSettings', 'HostName', 'LocalHostName']),
    );
    expect(delivered[0]?.Queries).not.toContain('IMEI');
  });

  it('queues for an old Mac only the queries that it knows', async () => {
    const device = await (await createTestDevice(app)).enroll({ ...MAC, OSVersion: '10.10.5' });
    const [first] = await obeyAll(device);
    expect(first?.Queries).toContain('DeviceName');
    expect(first?.Queries).not.toContain('OSUpdateSettings');
    expect(first?.Queries).not.toContain('IsAppleSilicon');
  });

  it('queues for a device of an unknown platform the queries that all systems know', async () => {
    const device = await createTestDevice(app);
    await device.checkIn('Authenticate');
    await device.tokenUpdate();
    const [first] = await obeyAll(device);
    expect(first?.RequestType).toBe('DeviceInformation');
    expect(first?.Queries).toContain('IsSupervised');
  });

  it('queues nothing when it is repeated', async () => {
    const device = await (await createTestDevice(app)).enroll(IPHONE);
    const before = await obeyAll(device);
    await device.tokenUpdate({ Token: Buffer.from('another token') });
    expect(typesOf(before)).toEqual(EVERYWHERE);
    expect(await obeyAll(device)).toEqual([]);
  });
});

it('an inventory asked for by hand asks a known supervised iPhone for all at once', async () => {
  const device = await (await createTestDevice(app)).enroll(IPHONE);
  await obeyAll(device, { IsSupervised: true });
  const { id } = await app.db.knex('devices').where({ udid: device.udid }).first();
  const reply = await adminApi(app).post(`/devices/inventory/${id}`);
  expect(reply.status).toBe(201);
  expect(reply.body.data).toHaveLength(6);
  expect(typesOf(await obeyAll(device, { IsSupervised: true }))).toEqual([
    ...EVERYWHERE,
    'AvailableOSUpdates',
  ]);
});
