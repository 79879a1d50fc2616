import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { fetchDepActivation, obtainAutomated } from '../../../src/lab/enrollment/automated.js';
import { canSimulate, describeAwaited } from '../../../src/lab/enrollment/awaited-devices.js';
import { KeyPool } from '../../../src/lab/enrollment/key-pool.js';
import { Activation } from '../../../src/lab/pki/activation.js';
import { createLabFactoryCa } from '../../../src/lab/pki/lab-authority.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { DepUnderTest } from '../dep/dep-under-test.js';

let lab: DepUnderTest;
let origin: string;
/** What the server of the enrollment profiles was asked. */
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  response.writeHead(403, { 'Content-Type': 'text/plain' }).end('not today');
});
const { signal } = new AbortController();
const http = new HttpClient({ retryMs: 1_000, signal });

beforeAll(async () => {
  lab = await DepUnderTest.start();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await lab.openSession(lab.standIn.portal.issueToken());
});

afterAll(async () => {
  http.close();
  server.close();
  await lab.stop();
});

/** A device that has a profile of these attributes. */
async function deviceWith(attributes: object): Promise<string> {
  const [serial = ''] = lab.standIn.portal.addDevices(undefined, { count: 1, family: 'iPad' });
  const profile = { profile_name: 'x', url: `${origin}/here`, devices: [serial], ...attributes };
  await lab.ask('POST', '/profile', profile);
  return serial;
}

const ask = (serial: string) => fetchDepActivation(http, lab.standIn.portalUrl, serial);

describe('a device in Setup Assistant asks Apple', () => {
  it('and learns its enrollment URL, the CAs to trust, and whether to wait', async () => {
    const anchor_certs = [Buffer.from('certificate').toString('base64')];
    const serial = await deviceWith({ anchor_certs, await_device_configured: true });
    expect(await ask(serial)).toEqual({
      url: `${origin}/here`,
      anchors: ['-----BEGIN CERTIFICATE-----\nY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n'],
      isAwaitingConfiguration: true,
    });
  });

  it('and fails with the reason when it has no profile, or one that needs a person', async () => {
    const [serial = ''] = lab.standIn.portal.addDevices(undefined, { count: 1 });
    await expect(ask(serial)).rejects.toThrow(`Apple has no profile for ${serial} yet: assign one`);
    const page = await deviceWith({ configuration_web_url: 'https://sso.example.com' });
    await expect(ask(page)).rejects.toThrow(
      'needs a person to sign in at its configuration_web_url',
    );
  });

  it('and continues without an answer when Apple does not know it', async () => {
    expect(await ask('F2LNOBODY001')).toBeUndefined();
  });
});

describe('a device in Setup Assistant', () => {
  async function go(serialNumber: string) {
    const random = new Random('automated');
    const device = createSimulatedDevice({ platform: 'iOS', random, serialNumber });
    const activation = new Activation(await createLabFactoryCa());
    const way = { url: `${origin}/base`, activation, portal: lab.standIn.portalUrl };
    let unknown = 0;
    const onUnknownToApple = () => {
      unknown += 1;
    };
    asked.length = 0;
    const journey = { device, http, keys: new KeyPool(), onUnknownToApple };
    await expect(obtainAutomated(journey, way)).rejects.toThrow('answered 403: not today');
    return { asked: [...asked], unknown, isAwaiting: device.isAwaitingConfiguration };
  }

  it('asks at the URL of its profile', async () => {
    const serial = await deviceWith({ await_device_configured: true });
    const expected = { asked: ['POST /here'], unknown: 0, isAwaiting: true };
    expect(await go(serial)).toEqual(expected);
  });

  it('asks the server directly when Apple does not know it, which is reported', async () => {
    const expected = { asked: ['POST /base/dep/enroll'], unknown: 1, isAwaiting: false };
    expect(await go('F2LNOBODY001')).toEqual(expected);
  });
});

describe('a simulated device stands for an awaited one', () => {
  it('as Apple lists it', async () => {
    const serials = lab.standIn.portal.addDevices('many', { count: 450, family: 'Mac' });
    const [tv = ''] = lab.standIn.portal.addDevices('many', { count: 1, family: 'AppleTV' });
    const awaited = await describeAwaited(http, lab.standIn.portalUrl, ['HAND', tv, ...serials]);
    expect(awaited.map(({ serialNumber }) => serialNumber)).toEqual(['HAND', tv, ...serials]);
    const [hand = { serialNumber: '' }, television = hand, mac = hand] = awaited;
    expect(hand).toEqual({ serialNumber: 'HAND' });
    const platforms = [undefined, 'iOS', 'macOS'] as const;
    const playable = (one: typeof hand) => platforms.map((platform) => canSimulate(one, platform));
    expect(playable(hand)).toEqual([true, true, true]);
    expect(playable(television)).toEqual([false, false, false]);
    expect(playable(mac)).toEqual([true, false, true]);
  });

  it.each([
    ['iPad', 'iPad mini (6th generation)', 'iPad14,1'],
    ['iPhone', 'iPhone SE', 'iPhone12,8'],
    ['Mac', 'Mac Studio', 'Mac14,13'],
  ])('of the same family and model: %s, %s', (family, model, productName) => {
    const platform = family === 'Mac' ? 'macOS' : 'iOS';
    const random = new Random('play');
    const device = createSimulatedDevice({ platform, random, kind: { family, model } });
    expect(device.identity.model.productName).toBe(productName);
    const newer = { family, model: 'of next year' };
    const other = createSimulatedDevice({ platform, random, kind: newer }).identity.model;
    expect(family === 'Mac' || other.modelName === family).toBe(true);
  });

  it('of any kind, if the server has no stand-in for DEP', async () => {
    expect(await describeAwaited(http, undefined, ['A'])).toEqual([{ serialNumber: 'A' }]);
  });
});
