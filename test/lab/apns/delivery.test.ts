import { CourierClient } from '../../../src/lab/apns/courier-client.js';
import type { CourierPush } from '../../../src/lab/apns/courier-lines.js';
import {
  APNS_ID,
  inSeconds,
  MAGIC,
  type StandInUnderTest,
  startUnderTest,
  until,
} from './stand-in-under-test.js';

let lab: StandInUnderTest;
let courier: CourierClient;
let heard: CourierPush[];
let count = 0;

beforeAll(async () => {
  lab = await startUnderTest();
  courier = new CourierClient({ url: lab.standIn.courierUrl });
});

afterAll(async () => {
  await courier.close();
  await lab.stop();
});

beforeEach(() => {
  heard = [];
});

function newToken(): string {
  count += 1;
  return count.toString(16).padStart(64, '0');
}

function connect(token: string, topic = lab.topic): Promise<void> {
  return courier.connect(token, topic, (push) => heard.push(push));
}

function pushTo(token: string, magic = MAGIC, expiration = inSeconds(3600)) {
  const headers = { ':path': `/3/device/${token}`, 'apns-expiration': expiration };
  return lab.push(headers, JSON.stringify({ mdm: magic }));
}

describe('a push for a device', () => {
  it('that is connected arrives with its payload and id', async () => {
    const token = newToken();
    await connect(token);
    expect((await pushTo(token)).status).toBe(200);
    await until(() => heard.length > 0);
    expect(heard).toEqual([{ token, payload: { mdm: MAGIC }, apnsId: APNS_ID }]);
    expect(lab.standIn.token(token)).toEqual({
      token,
      accepted: 1,
      delivered: 1,
      is_connected: true,
      has_waiting_push: false,
      gone_at: null,
    });
  });

  it('that is connected arrives even with expiration 0', async () => {
    const token = newToken();
    await connect(token);
    await pushTo(token, MAGIC, '0');
    await until(() => heard.length > 0);
    expect(heard.map((push) => push.token)).toEqual([token]);
  });

  it('that is away waits, and a newer one replaces it', async () => {
    const token = newToken();
    await pushTo(token, 'older');
    await pushTo(token, 'newer');
    expect(lab.standIn.token(token)).toMatchObject({ has_waiting_push: true, delivered: 0 });
    await connect(token);
    await until(() => heard.length > 0);
    await pushTo(token, 'last');
    await until(() => heard.length > 1);
    expect(heard.map((push) => push.payload.mdm)).toEqual(['newer', 'last']);
  });

  it('that is away is lost with expiration 0 or none', async () => {
    const [one, other] = [newToken(), newToken()];
    expect((await pushTo(one, MAGIC, '0')).status).toBe(200);
    const path = { ':path': `/3/device/${other}`, 'apns-expiration': undefined };
    expect((await lab.push(path)).status).toBe(200);
    await Promise.all([connect(one), connect(other)]);
    await pushTo(other, 'later');
    await until(() => heard.length > 0);
    expect(heard.map((push) => push.payload.mdm)).toEqual(['later']);
  });

  it('that connects after its expiration is lost', async () => {
    const token = newToken();
    expect((await pushTo(token, MAGIC, inSeconds(-1))).status).toBe(200);
    expect((await pushTo(token, 'short', inSeconds(2))).status).toBe(200);
    expect(lab.standIn.token(token)?.has_waiting_push).toBe(true);
    const { expired } = lab.standIn.report();
    const end = Date.now() + 2_100;
    await until(() => Date.now() > end);
    await connect(token);
    await until(() => lab.standIn.report().expired === expired + 1);
    expect(heard).toEqual([]);
  });

  it('that disconnected waits until it is connected again', async () => {
    const token = newToken();
    await connect(token);
    await courier.disconnect(token);
    await pushTo(token);
    expect(lab.standIn.token(token)).toMatchObject({ is_connected: false, has_waiting_push: true });
    await connect(token);
    await until(() => heard.length > 0);
    expect(heard.map((push) => push.token)).toEqual([token]);
  });

  it('that listens to another topic is refused', async () => {
    const token = newToken();
    await connect(token, 'com.apple.mgmt.External.another');
    const answer = await pushTo(token);
    expect(answer).toMatchObject({ status: 400, body: { reason: 'DeviceTokenNotForTopic' } });
  });

  it('does not arrive when it waited for another topic', async () => {
    const token = newToken();
    await pushTo(token);
    await connect(token, 'com.apple.mgmt.External.another');
    await until(() => lab.standIn.token(token)?.has_waiting_push === false);
    expect(lab.standIn.token(token)).toMatchObject({ accepted: 1, delivered: 0 });
  });
});

describe('a token that its device no longer uses', () => {
  it('is answered 410 with the time, and no push waits for it', async () => {
    const token = newToken();
    await pushTo(token);
    const before = Date.now();
    await courier.forget(token);
    const { status, body } = await pushTo(token);
    expect([status, body]).toEqual([
      410,
      { reason: 'Unregistered', timestamp: (body as { timestamp: number }).timestamp },
    ]);
    const { timestamp } = body as { timestamp: number };
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Date.now());
    expect(lab.standIn.token(token)).toMatchObject({
      has_waiting_push: false,
      gone_at: new Date(timestamp).toISOString(),
    });
  });

  it('is valid again once a device connects with it', async () => {
    const token = newToken();
    await courier.forget(token);
    await connect(token);
    expect((await pushTo(token)).status).toBe(200);
  });
});
