import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ApnsStandIn, startApnsStandIn } from '../../../src/lab/apns/apns-stand-in.js';
import { createLabAuthority, type LabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { openLabCourier } from '../../../src/lab/wire/lab-description.js';

const TOPIC = 'com.apple.mgmt.External.2f1c';
const FIRST = 'a1'.repeat(32);
const SECOND = 'b2'.repeat(32);

let authority: LabAuthority;
let answer: { status: number; body: string };
const server = createServer((request, response) => {
  const isLab = request.url === '/lab';
  response.writeHead(isLab ? answer.status : 404).end(isLab ? answer.body : '');
});
const ending = new AbortController();
const { signal } = ending;
const http = new HttpClient({ retryMs: 1_000, signal });
let url: string;

beforeAll(async () => {
  authority = await createLabAuthority();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  ending.abort();
  http.close();
  server.close();
});

function describeStandIn({ url: apns, courierUrl, controlUrl, caPem }: ApnsStandIn) {
  const body = {
    apns: { url: apns, ca: caPem, courier: courierUrl, control: controlUrl },
    push_topic: TOPIC,
    device_ca: { certificate: caPem, key: '' },
    serials: [],
  };
  return { status: 200, body: JSON.stringify(body) };
}

describe('the push service of a lab', () => {
  it('is not found when the server has no lab, and the error says how to start one', async () => {
    answer = { status: 404, body: '' };
    await expect(openLabCourier(http, { url: `${url}/`, signal })).rejects.toThrow(
      `${url}/lab answered 404: start the server with LAB=on, on this machine`,
    );
  });

  it.each(['', '{}', '<html>', '{"apns":{"url":"no URL"},"push_topic":"x"}'])(
    'is not found in %j',
    async (body) => {
      answer = { status: 200, body };
      await expect(openLabCourier(http, { url, signal })).rejects.toThrow(
        `${url}/lab does not describe a lab`,
      );
    },
  );

  it('is found again when a restart has moved it', async () => {
    const former = await startApnsStandIn({ authority });
    answer = describeStandIn(former);
    const { courier, description } = await openLabCourier(http, { url, signal });
    expect(description.push_topic).toBe(TOPIC);
    expect(description.apns.control).toBe(former.controlUrl);
    await courier.connect(FIRST, TOPIC, () => undefined);
    expect(former.token(FIRST)).toMatchObject({ is_connected: true });

    const later = await startApnsStandIn({ authority });
    answer = describeStandIn(later);
    await former.close();
    await courier.connect(SECOND, TOPIC, () => undefined);
    for (const token of [FIRST, SECOND]) {
      expect(later.token(token)).toMatchObject({ is_connected: true });
    }
    await courier.close();
    await later.close();
  });
});
