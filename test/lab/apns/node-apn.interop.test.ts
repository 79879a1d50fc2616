import {
  Notification,
  Provider,
  type ResponseFailure,
  type ResponseSent,
  type Responses,
} from '@parse/node-apn';
import type { Identity } from '../../../src/crypto/x509/certificate.js';
import { CourierClient } from '../../../src/lab/apns/courier-client.js';
import type { CourierPush } from '../../../src/lab/apns/courier-lines.js';
import {
  certificatePem,
  issuePushCertificate,
  privateKeyPem,
} from '../../../src/lab/pki/lab-authority.js';
import { type StandInUnderTest, startUnderTest, until } from './stand-in-under-test.js';

const TOKEN = '5a'.repeat(32);
const MAGIC = 'B3B2A1F0-5C41-4F36-9C8E-0123456789AB';
const ID = '0f0e0d0c-0b0a-4908-8706-050403020100';

let lab: StandInUnderTest;
let provider: Provider;

function createProvider(certificate: Identity): Provider {
  const { hostname, port } = new URL(lab.standIn.url);
  return new Provider({
    cert: certificatePem(certificate),
    key: privateKeyPem(certificate),
    ca: [lab.standIn.caPem],
    address: hostname,
    port: Number(port),
    production: false,
  });
}

beforeAll(async () => {
  lab = await startUnderTest();
  provider = createProvider(await issuePushCertificate(lab.authority, { topic: lab.topic }));
});

afterAll(async () => {
  await provider.shutdown();
  await lab.stop();
});

function notification(changes: Partial<Notification> = {}): Notification {
  const made = new Notification();
  made.topic = lab.topic;
  made.pushType = 'mdm';
  made.mdm = MAGIC;
  made.id = ID;
  made.expiry = Math.floor(Date.now() / 1000) + 3600;
  return Object.assign(made, changes);
}

function send(
  made: Notification,
  token = TOKEN,
): Promise<Responses<ResponseSent, ResponseFailure>> {
  return provider.send(made, token);
}

describe('node-apn, connected to the stand-in', () => {
  it('receives the reason for a bad token', async () => {
    const { sent, failed } = await send(notification(), 'abcd');
    expect(sent).toEqual([]);
    expect(failed).toEqual([
      { device: 'abcd', status: 400, response: { reason: 'BadDeviceToken' }, ...ids() },
    ]);
  });

  it('receives since when a token is no longer in use', async () => {
    const timestamp = 1_780_000_000_000;
    lab.standIn.addAnswer({ token: TOKEN, status: 410, timestamp, times: 1 });
    const { failed } = await send(notification());
    expect(failed).toEqual([
      { device: TOKEN, status: 410, response: { reason: 'Unregistered', timestamp }, ...ids() },
    ]);
  });

  it('is refused without the topic of its certificate', async () => {
    const { failed } = await send(notification({ topic: 'com.apple.mgmt.External.other' }));
    expect(failed.map(({ status, response }) => [status, response])).toEqual([
      [400, { reason: 'BadTopic' }],
    ]);
  });

  it('wakes a device', async () => {
    const heard: CourierPush[] = [];
    const courier = new CourierClient({ url: lab.standIn.courierUrl });
    await courier.connect(TOKEN, lab.topic, (push) => heard.push(push));
    const { sent, failed } = await send(notification());
    expect(failed).toEqual([]);
    expect(sent.map(({ device }) => device)).toEqual([TOKEN]);
    await until(() => heard.length > 0);
    expect(heard).toEqual([{ token: TOKEN, payload: { mdm: MAGIC }, apnsId: ID }]);
    await courier.close();
  });

  it('reconnects after a GOAWAY', async () => {
    expect((await send(notification())).sent).toHaveLength(1);
    lab.standIn.goAway();
    await until(() => lab.standIn.report().connections === 0);
    expect((await send(notification())).sent).toHaveLength(1);
  });
});

/** What the library adds to a failure: the id that was echoed. */
function ids() {
  return { 'apns-id': ID };
}
