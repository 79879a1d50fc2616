import { buildPlist } from '../../src/protocol/plist/plist.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { type Held, hold, within } from '../helpers/held-requests.js';

const KIB = 1024;
const LENGTH = 8 * KIB * KIB;
const LIMITS = { bytes: 1_000 * KIB, addressBytes: 400 * KIB, senderBytes: 250 * KIB };
const PART = Buffer.alloc(60 * KIB);

let app: TestApp;
let held: Held[] = [];

beforeAll(async () => {
  app = await startApp({ isSweeping: false, bodyLimits: { ...LIMITS, silentMs: 60_000 } });
});
afterEach(async () => {
  for (const { socket } of held) socket.destroy();
  held = [];
  await new Promise((resolve) => setTimeout(resolve, 50));
});
afterAll(() => app.stop());

const idle = (device: TestDevice) => buildPlist({ Status: 'Idle', ...device.ids });

/** One more request that sends a part of its body and holds the rest; its answer, if there is one. */
async function holdOne(
  request: { path?: string; method?: string; headers?: Record<string, string>; length?: number },
  at: TestApp = app,
): Promise<string | undefined> {
  const one = hold(at, { length: LENGTH, sent: PART, ...request });
  held.push(one);
  return await within(one.head, 150);
}

async function holdMany(count: number, request: Parameters<typeof holdOne>[0]) {
  const answers: (string | undefined)[] = [];
  for (let at = 0; at < count; at += 1) answers.push(await holdOne(request));
  return answers;
}

const BUSY = expect.stringMatching(/^HTTP\/1\.1 503 [\s\S]*Retry-After: 30/);
const POST = { method: 'POST', length: 64 * KIB };

describe('bodies of one address that are held back', () => {
  it.each<[string, Parameters<typeof holdOne>[0]]>([
    ['/scep', { ...POST, path: '/scep?operation=PKIOperation' }],
    ['/dep/enroll', { ...POST, path: '/dep/enroll' }],
    ['/enroll/profile', { ...POST, path: '/enroll/profile' }],
    ['/enroll/ota_authenticate', { ...POST, path: '/enroll/ota_authenticate' }],
  ])('are answered 503 at %s once the share of the address is used up', async (_path, request) => {
    const answers = await holdMany(8, request);
    expect(answers).toEqual([...Array(6).fill(undefined), BUSY, BUSY]);
  });

  it('are answered 503 with a certificate that has proved nothing here', async () => {
    const device = await createTestDevice(app);
    const headers = { 'Mdm-Signature': device.sign(idle(device)) };
    const answers = await holdMany(8, { headers });
    expect(answers).toEqual([...Array(6).fill(undefined), BUSY, BUSY]);
    const warnings = app.logLines.filter(({ msg }) => msg.startsWith('request bodies: '));
    expect(warnings[0]).toMatchObject({ level: 40, sender: 'address 127.0.0.1' });
    expect(warnings[0]?.msg).toMatch(/set TRUST_PROXY/);
    expect(warnings.filter(({ level }) => level === 40)).toHaveLength(1);
  });

  it('block neither other devices behind the address nor their large reports', async () => {
    const known = await (await createTestDevice(app)).enroll();
    const device = await createTestDevice(app);
    await holdMany(7, { headers: { 'Mdm-Signature': device.sign(idle(device)) } });
    const fresh = await (await createTestDevice(app)).enroll();
    expect((await fresh.idle()).status).toBe(200);
    expect((await known.idle({ Filler: 'x'.repeat(150 * KIB) })).status).toBe(200);
  });

  it('count for the certificate when its device is known here, and not for the address', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const answers = await holdMany(6, { headers: { 'Mdm-Signature': device.sign(idle(device)) } });
    expect(answers).toEqual([...Array(4).fill(undefined), BUSY, BUSY]);
    expect(await holdMany(3, { ...POST, path: '/dep/enroll' })).toEqual(Array(3).fill(undefined));
  });
});

it('the devices of all addresses together have no more than the whole budget', async () => {
  const devices = await Promise.all(
    Array.from({ length: 5 }, async () => (await createTestDevice(app)).enroll()),
  );
  const answers: (string | undefined)[] = [];
  for (const device of devices) {
    const headers = { 'Mdm-Signature': device.sign(idle(device)) };
    answers.push(...(await holdMany(4, { headers })));
  }
  expect(answers).toEqual([...Array(16).fill(undefined), ...Array(4).fill(BUSY)]);
});

it('uploads of one admin have a share of their own', async () => {
  const upload = {
    method: 'POST',
    path: '/api/v1/upload/profiles',
    length: 3 * KIB * KIB,
    headers: {
      Authorization: `Bearer ${ADMIN_TOKEN}`,
      'Content-Type': 'multipart/form-data; boundary=b',
    },
  };
  const answers = await holdMany(6, upload);
  expect(answers).toEqual([...Array(4).fill(undefined), BUSY, BUSY]);
  expect(await holdMany(2, { ...POST, path: '/scep?operation=PKIOperation' })).toEqual(
    Array(2).fill(undefined),
  );
});

it('behind a proxy of TRUST_PROXY each client has a share of its own', async () => {
  const behind = await startApp({
    isSweeping: false,
    env: { TRUST_PROXY: '127.0.0.1' },
    bodyLimits: { ...LIMITS, silentMs: 60_000 },
  });
  const from = (address: string) =>
    holdOne({ ...POST, path: '/dep/enroll', headers: { 'X-Forwarded-For': address } }, behind);
  const answers: (string | undefined)[] = [];
  for (let at = 0; at < 7; at += 1) answers.push(await from('192.0.2.1'));
  answers.push(await from('192.0.2.2'));
  expect(answers).toEqual([...Array(6).fill(undefined), BUSY, undefined]);
  for (const { socket } of held) socket.destroy();
  await behind.stop();
});

it('stalled bodies are dropped in favor of bodies that flow', async () => {
  const eager = await startApp({ isSweeping: false, bodyLimits: { ...LIMITS, silentMs: 300 } });
  const request = { ...POST, path: '/scep?operation=PKIOperation' };
  for (let at = 0; at < 6; at += 1) expect(await holdOne(request, eager)).toBeUndefined();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const device = await createTestDevice(eager);
  const reply = await device.send({ Status: 'Idle', ...device.ids, F: 'x'.repeat(200 * KIB) });
  // Read to its end; the certificate belongs to no enrollment.
  expect(reply.status).toBe(403);
  expect(await within(held[0]?.answered ?? Promise.resolve(0), 500)).toBe(503);
  expect(await within(held[5]?.answered ?? Promise.resolve(0), 100)).toBeUndefined();
  for (const { socket } of held) socket.destroy();
  await eager.stop();
});
