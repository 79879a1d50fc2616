import { startApnsStandIn } from '../../../src/lab/apns/apns-stand-in.js';
import { CourierClient } from '../../../src/lab/apns/courier-client.js';
import type { CourierPush } from '../../../src/lab/apns/courier-lines.js';
import { MAGIC, type StandInUnderTest, startUnderTest, until } from './stand-in-under-test.js';

const FLEET = 20_000;

let lab: StandInUnderTest;

beforeAll(async () => {
  lab = await startUnderTest();
});

afterAll(async () => {
  await lab.stop();
});

function tokenAt(index: number, prefix = 'f'): string {
  return prefix + index.toString(16).padStart(63, '0');
}

async function withCourier(
  url: string | (() => Promise<string>),
  work: (courier: CourierClient) => Promise<void>,
): Promise<void> {
  const courier = new CourierClient({ url });
  try {
    await work(courier);
  } finally {
    await courier.close();
  }
}

describe('a courier client', () => {
  it('connects a whole fleet, and delivers each push to its own device', async () => {
    await withCourier(lab.standIn.courierUrl, async (courier) => {
      const heard = new Map<string, CourierPush[]>();
      const connected = Array.from({ length: FLEET }, (_, index) => {
        const token = tokenAt(index);
        return courier.connect(token, lab.topic, (push) => {
          heard.set(token, [...(heard.get(token) ?? []), push]);
        });
      });
      await Promise.all(connected);
      expect(lab.standIn.report().connected).toBe(FLEET);
      const tokens = [tokenAt(0), tokenAt(FLEET / 2), tokenAt(FLEET - 1)];
      for (const token of tokens) await lab.push({ ':path': `/3/device/${token}` });
      await until(() => heard.size === tokens.length);
      expect(
        [...heard].map(([token, pushes]) => [token, pushes.map((push) => push.token)]),
      ).toEqual(tokens.map((token) => [token, [token]]));
    });
    await until(() => lab.standIn.report().connected === 0);
  });

  it('accepts tokens in either case', async () => {
    await withCourier(lab.standIn.courierUrl, async (courier) => {
      const heard: CourierPush[] = [];
      await courier.connect('AB'.repeat(32), lab.topic, (push) => heard.push(push));
      await lab.push({ ':path': `/3/device/${'Ab'.repeat(32)}` });
      await until(() => heard.length > 0);
      expect(heard[0]?.token).toBe('ab'.repeat(32));
    });
  });

  it('reconnects its devices to a stand-in that restarted at another address', async () => {
    const { authority } = lab;
    let standIn = await startApnsStandIn({ authority });
    await withCourier(
      () => Promise.resolve(standIn.courierUrl),
      async (courier) => {
        await courier.connect(tokenAt(1), lab.topic, () => undefined);
        await courier.connect(tokenAt(2), lab.topic, () => undefined);
        await courier.forget(tokenAt(2));
        await standIn.close();
        await until(() => !courier.isConnected);
        standIn = await startApnsStandIn({ authority });
        const later = courier.connect(tokenAt(3), lab.topic, () => undefined);
        const gone = courier.forget(tokenAt(4));
        await Promise.all([later, gone]);
        expect(
          [...standIn.tokens()].map(({ token, is_connected }) => [token, is_connected]),
        ).toEqual([
          [tokenAt(1), true],
          [tokenAt(3), true],
          [tokenAt(4), false],
        ]);
      },
    );
    await standIn.close();
  });

  it('receives the push that came while its connection was broken', async () => {
    const first = await startApnsStandIn({ authority: lab.authority });
    let url = first.courierUrl;
    await withCourier(
      () => Promise.resolve(url),
      async (courier) => {
        const heard: string[] = [];
        await courier.connect(tokenAt(9), lab.topic, (push) => heard.push(push.payload.mdm));
        await lab.push({ ':path': `/3/device/${tokenAt(9)}` });
        url = lab.standIn.courierUrl;
        await first.close();
        await until(() => heard.length > 0);
        expect(heard).toEqual([MAGIC]);
      },
    );
  });

  it('resolves its promises when it is closed, and no push arrives any more', async () => {
    const courier = new CourierClient({ url: 'http://127.0.0.1:9' });
    const never = courier.connect(tokenAt(7), lab.topic, () => undefined);
    await courier.close();
    await never;
    await courier.forget(tokenAt(7));
    expect(courier.isConnected).toBe(false);
  });

  it('is closed by its signal', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const courier = new CourierClient({ url: lab.standIn.courierUrl, signal });
    await courier.connect(tokenAt(8), lab.topic, () => undefined);
    controller.abort();
    await until(() => lab.standIn.token(tokenAt(8))?.is_connected === false);
    expect(courier.isConnected).toBe(false);
  });
});
