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

afterEach(() => lab.standIn.clearFaults());
afterAll(() => lab.stop());

const PROFILE = { profile_name: 'Office', url: 'https://mdm.example.com/dep/enroll' };

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

describe('a fault on request', () => {
  it('is an answer with Retry-After, the requested number of times', async () => {
    const fault = { path: '/account', status: 429, retry_after: 7, times: 2, after: 1 };
    expect((await lab.portal('POST', '/faults', fault)).status).toBe(201);
    const answers = [];
    for (let i = 0; i < 4; i += 1) answers.push(await lab.call('GET', '/account'));
    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [200, undefined],
      [429, '7'],
      [429, '7'],
      [200, undefined],
    ]);
    expect(answers[1]?.text).toBe('TOO_MANY_REQUESTS');
  });

  it('is the result for some serial numbers, which are not changed', async () => {
    const [one = '', other = ''] = add(2);
    const profile_uuid = await define();
    lab.standIn.addFault({ path: '/profile/devices', serial_numbers: [one], result: 'FAILED' });
    const { devices } = await lab.ask('PUT', '/profile/devices', {
      profile_uuid,
      devices: [one, other],
    });
    expect(devices).toEqual({ [one]: 'FAILED', [other]: 'SUCCESS' });
    const shown = await lab.ask('POST', '/devices', { devices: [one] });
    expect(shown.devices[one].profile_status).toBe('empty');
  });

  it('is an answer that is lost, after the request was carried out or before', async () => {
    const [serial = ''] = add(1);
    lab.standIn.addFault({ path: '/devices/disown', drop: true, times: 1 });
    lab.standIn.addFault({ path: '/devices/disown', drop: true, obeyed: true, times: 1 });
    const disown = () => lab.call('POST', '/devices/disown', { devices: [serial] });
    await expect(disown()).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect(
      (await lab.ask('POST', '/devices', { devices: [serial] })).devices[serial],
    ).toMatchObject({ response_status: 'SUCCESS' });
    await expect(disown()).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect((await lab.ask('POST', '/devices', { devices: [serial] })).devices[serial]).toEqual({
      response_status: 'NOT_ACCESSIBLE',
    });
  });

  it('is a delayed answer with the body of the rule', async () => {
    lab.standIn.addFault({ path: '/account', delay_ms: 20, times: 1 });
    lab.standIn.addFault({ status: 403, body: 'ACCESS_DENIED' });
    const from = performance.now();
    expect((await lab.call('GET', '/account')).status).toBe(200);
    expect(performance.now() - from).toBeGreaterThan(18);
    expect(await refusal('GET', '/account')).toBe('403 ACCESS_DENIED');
    expect((await lab.portal('DELETE', '/faults')).status).toBe(204);
    expect((await lab.call('GET', '/account')).status).toBe(200);
  });

  it('is listed and counted', async () => {
    const seen: string[] = [];
    lab.standIn.intercept(({ method, url }) => {
      seen.push(`${method} ${url.pathname}`);
    });
    await lab.portal('DELETE', '/requests');
    await lab.call('GET', '/account');
    await lab.call('POST', '/devices/sync', {});
    lab.standIn.intercept(undefined);
    expect(seen).toEqual(['GET /account', 'POST /devices/sync']);
    const { bytes } = await lab.portal('GET', '/requests');
    expect(JSON.parse(bytes.toString())).toEqual({
      'GET /account': { 200: 1 },
      'POST /devices/sync': { 400: 1 },
    });
  });
});
