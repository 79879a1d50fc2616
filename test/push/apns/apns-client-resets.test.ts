import { once } from 'node:events';
import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../src/logger.js';
import type { ApnsAnswer } from '../../../src/protocol/apns.js';
import { ApnsClient } from '../../../src/push/apns/apns-client.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import type { ApnsUnreachableError } from '../../../src/push/apns/apns-failures.js';
import type { ApnsLimits } from '../../../src/push/apns/apns-limits.js';
import type { Identity } from '../../crypto/identities.js';
import {
  type ApnsService,
  createAuthority,
  createCredentials,
  delivered,
  pemOf,
  type Received,
  type ServiceOptions,
  startService,
  TOPIC,
} from './apns-service.js';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const logger = createLogger('silent');
/** Longer than any test. */
const LONG_BACK_OFF = { firstBackOff: 60_000, maxBackOff: 60_000 };

let authority: Identity;
let credentials: ApnsCredentials;
let service: ApnsService;
let client: ApnsClient;

beforeAll(async () => {
  authority = await createAuthority();
  credentials = await createCredentials(authority);
});

afterEach(async () => {
  await client.close();
  await service.close();
});

interface Given extends Partial<ServiceOptions> {
  limits?: Partial<ApnsLimits>;
}

async function start({ limits = {}, ...options }: Given = {}): Promise<void> {
  service = await startService({ authority, ...options });
  const ca = pemOf(authority).cert;
  client = new ApnsClient({ host: service.host, ca, credentials, logger, limits });
}

function push(token: string): Promise<ApnsAnswer> {
  return client.push({ token, pushMagic: 'magic', topic: TOPIC });
}

/** What became of a push: the status, or the message without the service's name. */
function outcomeOf(pushed: Promise<ApnsAnswer>): Promise<number | string> {
  return pushed.then(
    ({ status }) => status,
    ({ message }: ApnsUnreachableError) => message.replace(/^.*:\d+ /, ''),
  );
}

/** The service resets all requests on its first connection, and answers on others. */
function resetOnFirst(code: number): void {
  service.reply = (received) => {
    if (received.session === 0) received.stream.close(code);
    else delivered(received);
  };
}

function nextRequest(): Promise<Received> {
  return new Promise((resolve) => {
    service.reply = resolve;
  });
}

/** The connections on which each token was received. */
function waysOf(token: string): number[] {
  const came = service.received.filter((_, index) => service.tokens[index] === token);
  return came.map(({ session }) => session);
}

function idsOf(token: string): Set<unknown> {
  const came = service.received.filter((_, index) => service.tokens[index] === token);
  return new Set(came.map(({ headers }) => headers['apns-id']));
}

describe('a request that is refused unread', () => {
  it('is repeated once under the same id', async () => {
    await start();
    const pushed = push('a0');
    const { stream } = await nextRequest();
    service.reply = delivered;
    stream.close(NGHTTP2_REFUSED_STREAM);
    expect((await pushed).status).toBe(200);
    expect(waysOf('a0')).toEqual([0, 0]);
    expect(idsOf('a0').size).toBe(1);
  });

  it('is not repeated twice', async () => {
    await start({ reply: ({ stream }) => stream.close(NGHTTP2_REFUSED_STREAM) });
    expect(await outcomeOf(push('a0'))).toBe('reset the request (error code 7)');
    expect(waysOf('a0')).toEqual([0, 0]);
  });
});

describe('a connection on which every request is reset', () => {
  it('is left at once after ENHANCE_YOUR_CALM, and each request is repeated on another one', async () => {
    await start();
    await push('a0');
    const tokens = ['a1', 'a2', 'a3', 'a4'];
    const goAway = once(service.sessions[0] ?? service.server, 'goaway');
    resetOnFirst(NGHTTP2_ENHANCE_YOUR_CALM);
    const outcomes = await Promise.all(tokens.map((token) => outcomeOf(push(token))));
    expect(outcomes).toEqual([200, 200, 200, 200]);
    expect(tokens.map(waysOf)).toEqual(tokens.map(() => [0, 1]));
    expect(tokens.map((token) => idsOf(token).size)).toEqual([1, 1, 1, 1]);
    expect((await goAway)[0]).toBe(NGHTTP2_NO_ERROR);
    expect(await outcomeOf(push('a5'))).toBe(200);
    expect(waysOf('a5')).toEqual([1]);
  });

  it('is left after two resets with another code', async () => {
    await start();
    await push('a0');
    const left = once(service.sessions[0] ?? service.server, 'close');
    resetOnFirst(NGHTTP2_INTERNAL_ERROR);
    expect(await outcomeOf(push('a1'))).toBe(200);
    expect(waysOf('a1')).toEqual([0, 0, 1]);
    expect(idsOf('a1').size).toBe(1);
    await left;
  });

  it.each([
    ['CANCEL', NGHTTP2_CANCEL],
    ['REFUSED_STREAM', NGHTTP2_REFUSED_STREAM],
  ])('is left in the end after %s', async (_, code) => {
    await start();
    await push('a0');
    resetOnFirst(code);
    const outcomes: (number | string)[] = [];
    while (!outcomes.includes(200) && outcomes.length < 20) {
      outcomes.push(await outcomeOf(push(`a${outcomes.length + 1}`)));
    }
    const failures = outcomes.slice(0, -1);
    expect(new Set(failures)).toEqual(new Set([`reset the request (error code ${code})`]));
    expect(failures.length).toBeLessThan(10);
    expect(outcomes.at(-1)).toBe(200);
    expect(service.sessions).toHaveLength(2);
  });

  it('is replaced though it was the only one allowed, and full', async () => {
    await start({ settings: { maxConcurrentStreams: 1 }, limits: { sessions: 1 } });
    await push('a0');
    resetOnFirst(NGHTTP2_ENHANCE_YOUR_CALM);
    const outcomes = ['a1', 'a2', 'a3'].map((token) => outcomeOf(push(token)));
    expect(await Promise.all(outcomes)).toEqual([200, 200, 200]);
    expect(service.tokens).toEqual(['a0', 'a1', 'a1', 'a2', 'a3']);
  });

  it('finishes the requests under way', async () => {
    await start();
    await push('a0');
    const first = nextRequest();
    const held = outcomeOf(push('a1'));
    const received = await first;
    resetOnFirst(NGHTTP2_ENHANCE_YOUR_CALM);
    expect(await outcomeOf(push('a2'))).toBe(200);
    expect(service.sessions[0]?.closed).toBe(false);
    const left = once(service.sessions[0] ?? service.server, 'close');
    delivered(received);
    expect(await held).toBe(200);
    expect(waysOf('a1')).toEqual([0]);
    await left;
  });

  it('has each request repeated only once', async () => {
    await start({ limits: LONG_BACK_OFF });
    await push('a0');
    service.reply = ({ stream }) => stream.close(NGHTTP2_ENHANCE_YOUR_CALM);
    expect(await outcomeOf(push('a1'))).toBe('reset the request (error code 11)');
    expect(waysOf('a1')).toEqual([0, 1]);
    expect(client.retryAt?.getTime()).toBeGreaterThan(Date.now());
  });
});

describe('a new connection on which every request is reset', () => {
  it('is followed by a growing back-off, and nothing is repeated', async () => {
    await start({
      reply: ({ stream }) => stream.close(NGHTTP2_ENHANCE_YOUR_CALM),
      limits: { firstBackOff: 200, maxBackOff: 800 },
    });
    let delay = 0;
    for (const token of ['a0', 'a1', 'a2']) {
      const before = Date.now();
      expect(await outcomeOf(push(token))).toBe('reset the request (error code 11)');
      const retryAt = client.retryAt?.getTime() ?? before;
      delay = retryAt - before;
      await sleep(Math.max(0, retryAt - Date.now()) + 20);
    }
    expect(service.tokens).toEqual(['a0', 'a1', 'a2']);
    expect(service.sessions).toHaveLength(3);
    // 200 doubled twice, less a quarter.
    expect(delay).toBeGreaterThanOrEqual(600);
    service.reply = delivered;
    expect(await outcomeOf(push('a3'))).toBe(200);
  });

  it('is left after the second reset when the code may concern the request', async () => {
    await start({
      reply: ({ stream }) => stream.close(NGHTTP2_INTERNAL_ERROR),
      limits: LONG_BACK_OFF,
    });
    expect(await outcomeOf(push('a0'))).toBe('reset the request (error code 2)');
    expect(client.retryAt).toBeUndefined();
    expect(await outcomeOf(push('a1'))).toBe('reset the request (error code 2)');
    expect(client.retryAt?.getTime()).toBeGreaterThan(Date.now());
    expect(service.tokens).toEqual(['a0', 'a1']);
  });

  it('does not end the back-off with a late answer', async () => {
    await start({ limits: LONG_BACK_OFF });
    const first = nextRequest();
    const held = outcomeOf(push('a0'));
    const received = await first;
    service.reply = ({ stream }) => stream.close(NGHTTP2_ENHANCE_YOUR_CALM);
    expect(await outcomeOf(push('a1'))).toBe('reset the request (error code 11)');
    delivered(received);
    expect(await held).toBe(200);
    expect(client.retryAt?.getTime()).toBeGreaterThan(Date.now());
    expect(await outcomeOf(push('a2'))).toBe('reset the request (error code 11)');
    expect(service.tokens).toEqual(['a0', 'a1']);
  });
});

describe('a connection on which a single request is reset', () => {
  it('is kept, and the request is repeated there under the same id', async () => {
    await start();
    await push('a0');
    for (const token of ['a1', 'a2', 'a3']) {
      service.reply = ({ stream }) => {
        service.reply = delivered;
        stream.close(NGHTTP2_INTERNAL_ERROR);
      };
      expect(await outcomeOf(push(token))).toBe(200);
      expect(idsOf(token).size).toBe(1);
    }
    expect(service.tokens).toEqual(['a0', 'a1', 'a1', 'a2', 'a2', 'a3', 'a3']);
    expect(service.sessions).toHaveLength(1);
  });

  it('is kept, and a request that is reset each time between answers fails', async () => {
    await start();
    await push('a0');
    const first = nextRequest();
    const bad = outcomeOf(push('bad'));
    (await first).stream.close(NGHTTP2_INTERNAL_ERROR);
    const second = await nextRequest();
    service.reply = delivered;
    expect(await outcomeOf(push('a1'))).toBe(200);
    second.stream.close(NGHTTP2_INTERNAL_ERROR);
    expect(await bad).toBe('reset the request (error code 2)');
    expect(await outcomeOf(push('a2'))).toBe(200);
    expect(waysOf('bad')).toEqual([0, 0]);
    expect(service.sessions).toHaveLength(1);
  });

  it('counts as answered when the status came first', async () => {
    await start();
    service.reply = ({ stream }) => {
      stream.respond({ ':status': 503 });
      stream.write('{"reason":"Ser', () => stream.close(NGHTTP2_INTERNAL_ERROR));
    };
    const outcomes = [outcomeOf(push('a0')), outcomeOf(push('a1')), outcomeOf(push('a2'))];
    expect(await Promise.all(outcomes)).toEqual([503, 503, 503]);
    expect(service.tokens).toEqual(['a0', 'a1', 'a2']);
    expect(service.sessions).toHaveLength(1);
  });
});
