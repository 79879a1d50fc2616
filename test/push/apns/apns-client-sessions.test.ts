import { EventEmitter, once } from 'node:events';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../src/logger.js';
import type { ApnsAnswer, ApnsPush } from '../../../src/protocol/apns.js';
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
  startService,
  TOPIC,
} from './apns-service.js';

const logger = createLogger('silent');

let authority: Identity;
let credentials: ApnsCredentials;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  credentials = await createCredentials(authority);
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function connect(host: string, limits: Partial<ApnsLimits> = {}, log = logger): ApnsClient {
  const ca = pemOf(authority).cert;
  const client = new ApnsClient({ host, ca, credentials, logger: log, limits });
  closers.push(() => client.close());
  return client;
}

async function start(port = 0): Promise<ApnsService> {
  const service = await startService({ authority, port });
  closers.push(() => service.close());
  return service;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

function pushOf(token: string): ApnsPush {
  return { token, pushMagic: 'magic', topic: TOPIC };
}

function pushMany(client: ApnsClient, tokens: string[]): Promise<ApnsAnswer[]> {
  return Promise.all(tokens.map((token) => client.push(pushOf(token))));
}

function untilReceived(service: ApnsService, count: number): Promise<Received[]> {
  return new Promise((resolve) => {
    const held: Received[] = [];
    service.reply = (received) => {
      held.push(received);
      if (held.length === count) resolve(held);
    };
  });
}

/** How a push failed. */
function kindOf(pushed: Promise<ApnsAnswer>): Promise<string> {
  return pushed.then(
    ({ status }) => `answered ${status}`,
    ({ kind }: ApnsUnreachableError) => kind,
  );
}

function statusesOf(answers: ApnsAnswer[]): number[] {
  return answers.map(({ status }) => status);
}

describe('GOAWAY', () => {
  it('makes the client repeat only the pushes beyond the last stream, and lose none', async () => {
    const service = await start();
    const client = connect(service.host);
    const four = untilReceived(service, 4);
    const answers = pushMany(client, ['a0', 'a1', 'a2', 'a3']);
    const held = await four;
    const again = untilReceived(service, 2);
    const last = held[1]?.stream.id;
    expect(last).toBeGreaterThan(0);
    service.sessions[0]?.goaway(0, last, Buffer.from('{"reason":"Shutdown"}'));
    for (const received of await again) delivered(received);
    for (const received of held.slice(0, 2)) delivered(received);
    expect(statusesOf(await answers)).toEqual([200, 200, 200, 200]);
    expect(service.tokens).toEqual(['a0', 'a1', 'a2', 'a3', 'a2', 'a3']);
    expect(service.received.map(({ session }) => session)).toEqual([0, 0, 0, 0, 1, 1]);
    const idOf = (index: number) => service.received[index]?.headers['apns-id'];
    expect([idOf(4), idOf(5)].sort()).toEqual([idOf(2), idOf(3)].sort());
  });

  it('does not repeat pushes up to the last stream that are lost afterwards', async () => {
    const service = await start();
    const client = connect(service.host);
    const two = untilReceived(service, 2);
    const kind = kindOf(client.push(pushOf('a0')));
    const beyond = pushMany(client, ['a1']);
    const held = await two;
    const again = untilReceived(service, 1);
    service.sessions[0]?.goaway(0, held[0]?.stream.id);
    const repeated = await again;
    service.cut(1);
    expect(await kind).toBe('unreachable');
    repeated.forEach(delivered);
    expect(statusesOf(await beyond)).toEqual([200]);
    expect(service.tokens).toEqual(['a0', 'a1', 'a1']);
  });

  it('makes the client send the next push on another connection', async () => {
    const service = await start();
    const client = connect(service.host);
    await pushMany(client, ['a0']);
    service.sessions[0]?.goaway(0);
    expect(statusesOf(await pushMany(client, ['a1']))).toEqual([200]);
    expect(statusesOf(await pushMany(client, ['a2']))).toEqual([200]);
    expect(service.received.map(({ session }) => session)).toEqual([0, 1, 1]);
  });

  it('is retried once on a connection that never answered, then ends in a back-off', async () => {
    // RFC 9113, 6.5 and 6.8: empty settings; no stream was processed, no error. No HTTP/2 server of
    // Node.js says that of a stream it has seen.
    const settings = Buffer.from('000000040000000000', 'hex');
    const goAway = Buffer.from('0000080700000000000000000000000000', 'hex');
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).write(settings);
      socket.on('data', (chunk) => {
        if (chunk.includes('{"mdm":')) socket.end(goAway);
      });
    });
    const port = await listen(server);
    const client = connect(`http://127.0.0.1:${port}`);
    await expect(client.push(pushOf('a0'))).rejects.toMatchObject({
      kind: 'unreachable',
      message: `the push service at 127.0.0.1:${port} ended the connection (error code 0)`,
    });
    expect(connections).toBe(2);
    expect(client.retryAt?.getTime()).toBeGreaterThan(Date.now());
  });
});

describe('a second connection', () => {
  it('is tried again after its back-off, while the first one works', async () => {
    const service = await startService({ authority, settings: { maxConcurrentStreams: 1 } });
    closers.push(() => service.close());
    const ended = new EventEmitter();
    const log = createLogger('debug', { write: (line: string) => ended.emit('line', line) });
    const client = connect(service.host, { firstBackOff: 50, silentAfter: 60_000 }, log);
    const held = untilReceived(service, 1);
    const first = pushMany(client, ['a0']);
    const received = await held;
    // Accepts no more connections; existing ones remain.
    service.server.close();
    const failed = once(ended, 'line');
    const second = pushMany(client, ['a1']);
    expect(String(await failed)).toContain('cannot be reached (ECONNREFUSED)');
    service.reply = delivered;
    service.server.listen(service.port, '127.0.0.1');
    expect(statusesOf(await second)).toEqual([200]);
    expect(service.received.map(({ session }) => session)).toEqual([0, 1]);
    received.forEach(delivered);
    expect(statusesOf(await first)).toEqual([200]);
  });
});

describe('a connection that breaks', () => {
  it.each([
    ['without a word', (service: ApnsService) => service.cut()],
    ['as a process that stops', (service: ApnsService) => service.sessions[0]?.destroy()],
  ])('has its pushes repeated when it worked before: %s', async (_, breakLine) => {
    const service = await start();
    const client = connect(service.host);
    await pushMany(client, ['a0']);
    const two = untilReceived(service, 2);
    const answers = pushMany(client, ['a1', 'a2']);
    await two;
    service.reply = delivered;
    breakLine(service);
    expect(statusesOf(await answers)).toEqual([200, 200]);
    expect(service.tokens.slice(1).sort()).toEqual(['a1', 'a1', 'a2', 'a2']);
  });

  it('fails its pushes when it never worked', async () => {
    const service = await start();
    service.reply = () => service.cut();
    const client = connect(service.host);
    await expect(pushMany(client, ['a0'])).rejects.toMatchObject({ kind: 'unreachable' });
    expect(service.sessions).toHaveLength(1);
    expect(client.retryAt?.getTime()).toBeGreaterThan(Date.now());
  });

  it('fails a push that was lost twice', async () => {
    const service = await start();
    const client = connect(service.host);
    await pushMany(client, ['a0']);
    const first = untilReceived(service, 1);
    const kind = kindOf(client.push(pushOf('a1')));
    await first;
    const second = untilReceived(service, 1);
    service.cut();
    await second;
    service.reply = delivered;
    // The second connection has worked too, then.
    await pushMany(client, ['a2']);
    service.cut();
    expect(await kind).toBe('unreachable');
    expect(service.tokens).toEqual(['a0', 'a1', 'a1', 'a2']);
  });

  it('is replaced without an error after a restart of the service', async () => {
    const first = await startService({ authority });
    const client = connect(first.host);
    await pushMany(client, ['a0']);
    await first.close();
    const second = await start(first.port);
    expect(statusesOf(await pushMany(client, ['a1', 'a2']))).toEqual([200, 200]);
    expect(new Set(second.tokens)).toEqual(new Set(['a1', 'a2']));
    expect(second.tokens).toHaveLength(2);
  });
});

describe('a connection at rest', () => {
  /** A relay that drops the connection silently, as a router does that forgets it. */
  async function startRelay(port: number) {
    const sockets: Socket[] = [];
    const relay = createServer((socket) => {
      const onward = connectTcp(port, '127.0.0.1');
      sockets.push(socket, onward);
      for (const end of [socket, onward]) end.on('error', () => undefined);
      socket.pipe(onward).pipe(socket);
    });
    const relayPort = await listen(relay);
    closers.push(async () => {
      for (const socket of sockets) socket.destroy();
    });
    const cut = () => {
      for (const socket of sockets) socket.unpipe().pause();
    };
    return { host: `https://localhost:${relayPort}`, cut };
  }

  it('is checked with a PING before the next push', async () => {
    const service = await start();
    const client = connect(service.host, { staleAfter: 50 });
    await pushMany(client, ['a0']);
    await sleep(60);
    const pinged = once(service.sessions[0] ?? service.server, 'ping');
    expect(statusesOf(await pushMany(client, ['a1', 'a2']))).toEqual([200, 200]);
    await pinged;
    expect(service.sessions).toHaveLength(1);
  });

  it('is replaced when it does not answer the PING', async () => {
    const service = await start();
    const relay = await startRelay(service.port);
    const client = connect(relay.host, { staleAfter: 50, pingTimeout: 100 });
    await pushMany(client, ['a0']);
    relay.cut();
    await sleep(60);
    expect(statusesOf(await pushMany(client, ['a1', 'a2']))).toEqual([200, 200]);
    expect(new Set(service.tokens)).toEqual(new Set(['a0', 'a1', 'a2']));
    expect(service.tokens).toHaveLength(3);
    expect(service.sessions).toHaveLength(2);
  });

  it('is replaced even when nothing more can be written to it', async () => {
    const service = await start();
    const relay = await startRelay(service.port);
    // The time limit of a whole push is not tested here, and a busy machine takes seconds for 12 MB.
    const unhurried = { requestTimeout: 25_000, pushTimeout: 25_000 };
    const client = connect(relay.host, { silentAfter: 200, pingTimeout: 3000, ...unhurried });
    await pushMany(client, ['a0']);
    relay.cut();
    // 12 MB, more than the buffers on the way hold.
    const tokens = Array<string>(800).fill('a'.repeat(15_000));
    expect(new Set(statusesOf(await pushMany(client, tokens)))).toEqual(new Set([200]));
    expect(service.sessions).toHaveLength(2);
  });

  it('is checked with a PING when it falls silent with pushes under way, and they are repeated', async () => {
    const service = await start();
    const relay = await startRelay(service.port);
    const client = connect(relay.host, { silentAfter: 50, pingTimeout: 100 });
    await pushMany(client, ['a0']);
    const held = untilReceived(service, 2);
    const answers = pushMany(client, ['a1', 'a2']);
    await held;
    service.reply = delivered;
    relay.cut();
    expect(statusesOf(await answers)).toEqual([200, 200]);
    expect(service.received.map(({ session }) => session)).toEqual([0, 0, 0, 1, 1]);
  });

  it('is kept when it answers the PING', async () => {
    const service = await start();
    const client = connect(service.host, { silentAfter: 50, pingTimeout: 1000 });
    const held = untilReceived(service, 1);
    const answers = pushMany(client, ['a1']);
    const received = await held;
    const [session] = service.sessions;
    for (let count = 0; count < 3; count += 1) await once(session ?? service.server, 'ping');
    received.forEach(delivered);
    expect(statusesOf(await answers)).toEqual([200]);
    expect(service.sessions).toHaveLength(1);
  });

  it('is kept open with PINGs', async () => {
    const service = await start();
    const client = connect(service.host, { pingEvery: 50, pingTimeout: 1000 });
    await pushMany(client, ['a0']);
    const [session] = service.sessions;
    for (let count = 0; count < 3; count += 1) await once(session ?? service.server, 'ping');
    expect(statusesOf(await pushMany(client, ['a1']))).toEqual([200]);
    expect(service.sessions).toHaveLength(1);
  });
});
