import { DepUnderTest } from './dep-under-test.js';

let lab: DepUnderTest;
let name = '';
let count = 0;

beforeAll(async () => {
  lab = await DepUnderTest.start();
});

beforeEach(async () => {
  count += 1;
  name = `server ${count}`;
  await lab.openSession(lab.standIn.portal.issueToken({ server: name }));
});

afterAll(() => lab.stop());

const PROFILE = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };

interface Listed {
  serial_number: string;
  op_type?: string;
  profile_uuid?: string;
  profile_status: string;
}

async function refusal(method: string, path: string, body?: unknown): Promise<string> {
  const { status, text } = await lab.call(method, path, body);
  return `${status} ${text}`;
}

async function define(changes: object = {}): Promise<string> {
  return (await lab.ask('POST', '/profile', { ...PROFILE, ...changes })).profile_uuid;
}

function add(serials: number): string[] {
  return lab.standIn.portal.addDevices(name, { count: serials, family: 'Mac' });
}

/** All pages; the cursor of the last. */
async function readAll(path: string, limit: number, first?: string) {
  const all: Listed[] = [];
  let cursor = first;
  for (;;) {
    const page = await lab.ask('POST', path, { limit, cursor });
    expect(page.devices.length).toBeLessThanOrEqual(limit);
    all.push(...page.devices);
    cursor = page.cursor as string;
    if (!page.more_to_follow) return { devices: all, cursor };
  }
}

describe('pages', () => {
  it('of all devices follow each other, and end', async () => {
    const added = add(15);
    const { devices, cursor } = await readAll('/server/devices', 10);
    expect(devices).toHaveLength(25);
    expect(devices.slice(10).map((one) => one.serial_number)).toEqual(added);
    expect(devices.some((one) => one.op_type !== undefined)).toBe(false);
    expect(await refusal('POST', '/server/devices', { cursor })).toBe('400 EXHAUSTED_CURSOR');
    expect(await lab.ask('POST', '/devices/sync', { cursor })).toMatchObject({
      devices: [],
      more_to_follow: false,
      fetched_until: expect.stringMatching(/^\d{4}-.*\dZ$/),
    });
  });

  it('hold a hundred devices unless asked for another number', async () => {
    add(200);
    expect((await lab.ask('POST', '/server/devices', {})).devices).toHaveLength(100);
    expect(await refusal('POST', '/server/devices', { limit: 1001 })).toBe(
      '400 MALFORMED_REQUEST_BODY',
    );
  });

  it('of changes list every operation since the fetch began, in order', async () => {
    add(10);
    const { cursor: middle } = await lab.ask('POST', '/server/devices', { limit: 5 });
    const [late = ''] = add(1);
    const profile = await define();
    await lab.ask('PUT', '/profile/devices', { profile_uuid: profile, devices: [late] });
    lab.standIn.portal.removeDevices(name, [late]);
    const { cursor } = await readAll('/server/devices', 1000, middle);
    const { devices, cursor: end } = await readAll('/devices/sync', 1, cursor);
    expect(devices.map(({ op_type, serial_number }) => [op_type, serial_number])).toEqual([
      ['added', late],
      ['modified', late],
      ['deleted', late],
    ]);
    lab.standIn.portal.addDevices(name, { serialNumbers: [late] });
    expect((await readAll('/devices/sync', 10, end)).devices).toMatchObject([
      { op_type: 'added', serial_number: late, profile_status: 'empty' },
    ]);
  });

  it('ask for a cursor of their own kind, of their own server, that is not too old', async () => {
    add(10);
    const { cursor } = await lab.ask('POST', '/server/devices', { limit: 5 });
    expect(await refusal('POST', '/devices/sync', {})).toBe('400 CURSOR_REQUIRED');
    expect(await refusal('POST', '/devices/sync', { cursor: 'x' })).toBe('400 INVALID_CURSOR');
    expect(await refusal('POST', '/devices/sync', { cursor })).toBe('400 INVALID_CURSOR');
    await lab.portal('POST', '/cursors/expire');
    expect(await refusal('POST', '/server/devices', { cursor })).toBe('400 EXPIRED_CURSOR');
    const { cursor: fresh } = await lab.ask('POST', '/server/devices', { limit: 5 });
    await lab.openSession(lab.standIn.portal.issueToken({ server: 'another' }));
    expect(await refusal('POST', '/server/devices', { cursor: fresh })).toBe('400 INVALID_CURSOR');
  });

  it('of a thousand among a hundred thousand devices take no longer than among a few', async () => {
    add(3000);
    const few = await quickestPage();
    add(97_000);
    // Sorting or copying the whole fleet for a page would take many times as long.
    expect(await quickestPage()).toBeLessThan(5 * few);
  });

  /** Milliseconds; of many, since other programs run on the machine, too. */
  async function quickestPage(): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const { cursor } = await lab.ask('POST', '/server/devices', { limit: 1000 });
      const from = performance.now();
      await lab.call('POST', '/server/devices', { limit: 1000, cursor });
      times.push(performance.now() - from);
    }
    return Math.min(...times);
  }
});
