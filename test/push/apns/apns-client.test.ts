import { once } from 'node:events';
import { sensitiveHeaders } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { createLogger } from '../../../src/logger.js';
import type { ApnsAnswer, ApnsPush } from '../../../src/protocol/apns.js';
import { ApnsClient } from '../../../src/push/apns/apns-client.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import type { ApnsLimits } from '../../../src/push/apns/apns-limits.js';
import type { Identity } from '../../crypto/identities.js';
import {
  type ApnsService,
  answerWith,
  createAuthority,
  createCredentials,
  delivered,
  pemOf,
  type Received,
  type ServiceOptions,
  startService,
  TOPIC,
} from './apns-service.js';

const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const logger = createLogger('silent');

let authority: Identity;
let credentials: ApnsCredentials;
let service: ApnsService;
const clients: ApnsClient[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  credentials = await createCredentials(authority);
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await service.close();
});

async function start(options: Partial<ServiceOptions> = {}): Promise<void> {
  service = await startService({ authority, ...options });
}

function connect(limits: Partial<ApnsLimits> = {}): ApnsClient {
  const ca = pemOf(authority).cert;
  const client = new ApnsClient({ host: service.host, ca, credentials, logger, limits });
  clients.push(client);
  return client;
}

function pushOf(token: string, more: Partial<ApnsPush> = {}): ApnsPush {
  return { token, pushMagic: 'magic', topic: TOPIC, ...more };
}

function pushMany(client: ApnsClient, tokens: string[]): Promise<ApnsAnswer[]> {
  return Promise.all(tokens.map((token) => client.push(pushOf(token))));
}

function tokensOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => index.toString(16).padStart(64, '0'));
}

/** Resolves when the service holds as many requests; the test decides how to answer them. */
function untilReceived(count: number): Promise<Received[]> {
  return new Promise((resolve) => {
    const held: Received[] = [];
    service.reply = (received) => {
      held.push(received);
      if (held.length === count) resolve(held);
    };
  });
}

describe('a push', () => {
  it('arrives with the headers and the payload that Apple asks for', async () => {
    await start();
    const apnsId = '0f7e7a4e-3c1b-4f0a-9d57-1f2b3c4d5e6f';
    const push = { token: 'ab'.repeat(32), pushMagic: 'B5F0-"x"', topic: TOPIC, apnsId };
    expect(await connect().push({ ...push, expiration: 1_800_000_000 })).toEqual({
      status: 200,
      apnsId,
      reason: null,
      timestamp: null,
      retryAfter: null,
    });
    const [{ headers, body }] = service.received as [Received];
    expect(body).toBe('{"mdm":"B5F0-\\"x\\""}');
    expect({ ...headers }).toEqual({
      ':method': 'POST',
      ':scheme': 'https',
      ':authority': new URL(service.host).host,
      ':path': `/3/device/${'ab'.repeat(32)}`,
      'apns-topic': TOPIC,
      'apns-push-type': 'mdm',
      'apns-priority': '10',
      'apns-expiration': '1800000000',
      'apns-id': apnsId,
      [sensitiveHeaders]: [':path', 'apns-id'],
    });
  });

  it('gets an id, and is kept for a week by default', async () => {
    await start();
    const before = Math.floor(Date.now() / 1000);
    await connect().push(pushOf('aa'));
    const { headers } = service.received[0] as Received;
    expect(headers['apns-id']).toMatch(UUID);
    const kept = Number(headers['apns-expiration']) - before;
    expect(kept).toBeGreaterThanOrEqual(7 * 86_400);
    expect(kept).toBeLessThan(7 * 86_400 + 60);
  });

  it('comes with the push certificate, over TLS 1.2 or later', async () => {
    await start();
    const secured = once(service.server, 'secureConnection') as Promise<[TLSSocket]>;
    await connect().push(pushOf('aa'));
    const [socket] = await secured;
    const { fingerprint256 } = socket.getPeerCertificate();
    expect(fingerprint256.replaceAll(':', '').toLowerCase()).toBe(credentials.fingerprint);
    expect(['TLSv1.2', 'TLSv1.3']).toContain(socket.getProtocol());
    expect(socket.authorized).toBe(true);
  });

  it('is sent over plain HTTP/2 to an http: stand-in', async () => {
    await start({ plain: true });
    expect((await connect().push(pushOf('aa'))).status).toBe(200);
    expect(service.received[0]?.headers[':scheme']).toBe('http');
  });
});

describe('an answer', () => {
  it.each([
    [410, '{"reason":"Unregistered","timestamp":1700000000000}', 'Unregistered', 1700000000000],
    [400, '{"reason":"BadDeviceToken"}', 'BadDeviceToken', null],
    [413, '{"reason":"PayloadTooLarge"}', 'PayloadTooLarge', null],
    [500, '<html>', null, null],
    [503, '', null, null],
  ])('of %d %s is returned', async (status, body, reason, timestamp) => {
    await start({ reply: answerWith(status, body) });
    expect(await connect().push(pushOf('aa'))).toEqual({
      status,
      apnsId: null,
      reason,
      timestamp,
      retryAfter: null,
    });
  });

  it('contains Retry-After', async () => {
    await start({
      reply: answerWith(429, '{"reason":"TooManyRequests"}', { 'retry-after': '17' }),
    });
    expect(await connect().push(pushOf('aa'))).toMatchObject({ status: 429, retryAfter: 17 });
  });

  it('is returned with its status when it is huge, and does not affect later ones', async () => {
    await start({ reply: answerWith(500, 'x'.repeat(20_000_000)) });
    const client = connect();
    const huge = await client.push(pushOf('a0'));
    expect(huge).toMatchObject({ status: 500, reason: null });
    service.reply = delivered;
    for (const token of ['a1', 'a2', 'a3']) {
      expect((await client.push(pushOf(token))).status).toBe(200);
    }
    expect(service.tokens).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  it('is read no further than 4 KB', async () => {
    await start();
    const ended = new Promise((resolve) => {
      service.reply = ({ stream }) => {
        stream.on('close', () => resolve(stream.rstCode));
        stream.respond({ ':status': 400 });
        stream.write(`{"reason":"BadDeviceToken","more":"${'x'.repeat(5000)}`);
      };
    });
    const client = connect({ requestTimeout: 60_000, pushTimeout: 60_000 });
    expect(await client.push(pushOf('aa'))).toMatchObject({ status: 400, reason: null });
    expect(await ended).toBe(8);
  });
});

describe('many pushes', () => {
  it('are all answered, each with its own answer', async () => {
    await start({ settings: { maxConcurrentStreams: 200 } });
    const client = connect();
    const ids = tokensOf(5000).map((token) => ({
      token,
      apnsId: `00000000-0000-4000-8000-${token.slice(-12)}`,
    }));
    const answers = await Promise.all(
      ids.map(({ token, apnsId }) => client.push(pushOf(token, { apnsId }))),
    );
    expect(answers.map(({ apnsId }) => apnsId)).toEqual(ids.map(({ apnsId }) => apnsId));
    expect(new Set(service.tokens).size).toBe(5000);
    expect(service.received).toHaveLength(5000);
    expect(service.mostAtOnce).toBeLessThanOrEqual(200);
  });

  it('share one connection until it is full, then two', async () => {
    await start({ settings: { maxConcurrentStreams: 3 } });
    const client = connect();
    const three = untilReceived(3);
    const pushes = [pushMany(client, tokensOf(3))];
    (await three).forEach(delivered);
    await pushes[0];
    expect(service.sessions).toHaveLength(1);
    const six = untilReceived(6);
    const answers = pushMany(client, tokensOf(8));
    const held = await six;
    expect(held.map(({ session }) => session).sort((one, other) => one - other)).toEqual([
      0, 0, 0, 1, 1, 1,
    ]);
    service.reply = delivered;
    held.forEach(delivered);
    expect((await answers).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(service.sessions).toHaveLength(2);
    expect(service.mostAtOnce).toBe(3);
  });

  it('respect a limit that the service lowers meanwhile', async () => {
    await start({ settings: { maxConcurrentStreams: 10 } });
    const client = connect({ sessions: 1 });
    const ten = untilReceived(10);
    const answers = pushMany(client, tokensOf(30));
    const held = await ten;
    const [session] = service.sessions;
    session?.settings({ maxConcurrentStreams: 2 });
    await once(session ?? service.server, 'localSettings');
    let open = 10;
    let most = 0;
    service.reply = (received) => {
      open += 1;
      most = Math.max(most, open);
      setImmediate(() => {
        open -= 1;
        delivered(received);
      });
    };
    for (const received of held) {
      open -= 1;
      delivered(received);
    }
    expect((await answers).map(({ status }) => status)).toEqual(Array(30).fill(200));
    expect(most).toBe(2);
  });

  it('are refused at once beyond the length of the queue', async () => {
    await start({ settings: { maxConcurrentStreams: 1 } });
    const client = connect({ sessions: 1, queued: 2 });
    const one = untilReceived(1);
    const first = client.push(pushOf('a0'));
    const held = await one;
    const waiting = pushMany(client, ['a1', 'a2']);
    await expect(client.push(pushOf('a3'))).rejects.toMatchObject({
      kind: 'unreachable',
      message: `the push service at localhost:${service.port} is busy: too many pushes are waiting`,
    });
    service.reply = delivered;
    held.forEach(delivered);
    expect((await Promise.all([first, waiting])).flat()).toHaveLength(3);
  });

  it('fail when they find no free stream in time', async () => {
    await start({ settings: { maxConcurrentStreams: 1 } });
    const client = connect({ sessions: 1, pushTimeout: 300, requestTimeout: 10_000 });
    const one = untilReceived(1);
    const first = client.push(pushOf('a0')).catch((error: Error) => error.message);
    await one;
    const name = `the push service at localhost:${service.port}`;
    await expect(client.push(pushOf('a1'))).rejects.toMatchObject({ kind: 'unreachable' });
    expect(await first).toBe(`${name} did not answer the request in time`);
    expect(service.received.map(({ body }) => body)).toEqual(['{"mdm":"magic"}']);
  });
});

describe('closing', () => {
  it('finishes pushes under way and queued ones, and accepts no more', async () => {
    await start({ settings: { maxConcurrentStreams: 1 } });
    const client = connect({ sessions: 1 });
    const one = untilReceived(1);
    const answers = pushMany(client, tokensOf(3));
    const held = await one;
    const gone = once(service.sessions[0] ?? service.server, 'close');
    const closed = client.close();
    await expect(client.push(pushOf('aa'))).rejects.toMatchObject({
      kind: 'unreachable',
      code: 'push_service_unreachable',
      status: 503,
    });
    service.reply = delivered;
    held.forEach(delivered);
    await closed;
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
    await gone;
  });

  it('waits no longer than two seconds', async () => {
    await start({ reply: () => undefined });
    const client = connect({ drainTimeout: 50 });
    const held = untilReceived(1);
    const push = expect(client.push(pushOf('aa'))).rejects.toMatchObject({ kind: 'unreachable' });
    await held;
    await client.close();
    await push;
  });

  it('works without a connection, and can be called twice', async () => {
    await start();
    const client = connect();
    await Promise.all([client.close(), client.close()]);
    expect(service.sessions).toHaveLength(0);
  });
});
