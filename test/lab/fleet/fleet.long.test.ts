import { simulate } from '../../../src/cli/lab/simulate.js';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import { Fleet } from '../../../src/lab/fleet/fleet.js';
import { isComplete } from '../../../src/lab/fleet/fleet-state.js';
import { DeviceProxy } from '../../e2e/device-proxy.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { FakeCourier } from './fake-courier.js';

let app: TestApp;
let proxy: DeviceProxy;
let url: string;

beforeAll(async () => {
  const ports: number[] = [];
  proxy = new DeviceProxy(ports);
  url = await proxy.listen();
  app = await startApp({ env: { PUBLIC_URL: url } });
  ports.push(Number(new URL(app.url).port));
});
afterAll(async () => {
  proxy.close();
  await app.stop();
});

/** Two iPhones whose push service is the test; `enrolled` resolves before any was pushed. */
function startFleet(seed: string) {
  const courier = new FakeCourier();
  let onEnrolled = () => {};
  const enrolled = new Promise<void>((resolve) => {
    onEnrolled = resolve;
  });
  const fleet = new Fleet({
    devices: 2,
    platform: 'iOS',
    seed,
    notNow: 0,
    forever: false,
    way: { enroll: 'profile', url },
    pollIntervalMs: 1,
    concurrency: 2,
    signal: new AbortController().signal,
    openCourier: () => Promise.resolve(courier),
    onChange: () => {
      if (fleet.state.snapshot().unpushed === 2) onEnrolled();
    },
  });
  const devices = [0, 1].map((index) => deviceOf(seed, index));
  const push = ({ pushToken, pushMagic }: SimulatedDevice) =>
    courier.push(pushToken.toString('hex'), pushMagic);
  return { courier, fleet, devices, push, enrolled, run: fleet.run() };
}

/** As the fleet makes it. */
function deviceOf(seed: string, index: number): SimulatedDevice {
  const random = new Random(seed).fork(`device ${index}`);
  return createSimulatedDevice({ platform: 'iOS', random });
}

/** The kinds of messages of this device so far. */
function messagesOf({ identity }: SimulatedDevice): string[] {
  return proxy.exchanges.filter(({ udid }) => udid === identity.udid).map(({ kind }) => kind);
}

async function idOf({ identity }: SimulatedDevice): Promise<number> {
  const row = await app.db.knex('devices').where({ udid: identity.udid }).first('id');
  return Number(row?.id);
}

describe('a fleet that is pushed', () => {
  it('needs a server with a lab', async () => {
    const options = { devices: 1, enroll: 'profile', url, notNow: 0, pollInterval: 1 } as const;
    const written: string[] = [];
    const io = { out: { write: (text: string) => written.push(text) } };
    const run = simulate({ ...options, push: true, concurrency: 1 }, io);
    await expect(run).rejects.toThrow(/\/lab answered 404: start the server with LAB=on/);
    expect(written).toEqual([]);
    expect(proxy.exchanges).toEqual([]);
  });

  it('polls only when pushed, and is done when every device has answered', async () => {
    const { fleet, devices, push, enrolled, run } = startFleet('asks only then');
    await enrolled;
    expect(devices.map(messagesOf)).toEqual([
      ['Authenticate', 'TokenUpdate'],
      ['Authenticate', 'TokenUpdate'],
    ]);
    for (const device of devices) push(device);
    await run;
    for (const device of devices) {
      const [, , idle, ...reports] = messagesOf(device);
      expect(idle).toBe('Idle');
      expect(new Set(reports)).toEqual(new Set(['Acknowledged']));
    }
    const snapshot = fleet.state.snapshot();
    expect(snapshot).toMatchObject({ pushes: 2, polls: 2, unpushed: 0, failures: [] });
    expect(isComplete(snapshot)).toBe(true);
  });

  it('is connected to the push service before it contacts its server', async () => {
    const { courier, devices, push, enrolled, run } = startFleet('is connected');
    courier.onConnect = () => {
      const tokens = [...courier.topics.keys()];
      const last = devices.find(({ pushToken }) => pushToken.toString('hex') === tokens.at(-1));
      expect(last && messagesOf(last)).toEqual([]);
    };
    await enrolled;
    expect(courier.topics.size).toBe(2);
    for (const device of devices) push(device);
    await run;
  });

  it('stops using the token of a device that was erased or deleted', async () => {
    const { fleet, courier, devices, push, enrolled, run } = startFleet('gives up');
    const [erased, deleted] = devices as [SimulatedDevice, SimulatedDevice];
    await enrolled;
    const erase = commandDocument(await idOf(erased), 'EraseDevice');
    await adminApi(app).post('/commands', erase).expect(201);
    await adminApi(app)
      .delete(`/devices/${await idOf(deleted)}`)
      .expect(204);
    for (const device of devices) push(device);
    await run;
    expect(courier.forgotten).toHaveLength(2);
    expect(new Set(courier.forgotten)).toEqual(
      new Set(devices.map(({ pushToken }) => pushToken.toString('hex'))),
    );
    expect(fleet.state.snapshot().stages).toMatchObject({
      erased: 1,
      unenrolled: 1,
      enrolled: 0,
    });
    expect(isComplete(fleet.state.snapshot())).toBe(false);
  });
});
