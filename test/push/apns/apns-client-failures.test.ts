import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { createLogger } from '../../../src/logger.js';
import { ApnsClient } from '../../../src/push/apns/apns-client.js';
import type { ApnsCredentials } from '../../../src/push/apns/apns-connect.js';
import type { ApnsUnreachableError } from '../../../src/push/apns/apns-failures.js';
import type { ApnsLimits } from '../../../src/push/apns/apns-limits.js';
import type { Identity } from '../../crypto/identities.js';
import {
  type ApnsService,
  createAuthority,
  createCredentials,
  createServerIdentity,
  delivered,
  pemOf,
  type Received,
  startService,
  TOPIC,
} from './apns-service.js';

const logger = createLogger('silent');
const push = { token: 'ab'.repeat(32), pushMagic: 'magic', topic: TOPIC };

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

interface Given {
  limits?: Partial<ApnsLimits>;
  ca?: string;
  credentials?: ApnsCredentials;
}

function connect(host: string, { limits = {}, ...given }: Given = {}): ApnsClient {
  const ca = pemOf(authority).cert;
  const client = new ApnsClient({ host, ca, credentials, logger, limits, ...given });
  closers.push(() => client.close());
  return client;
}

async function start(port = 0): Promise<ApnsService> {
  const service = await startService({ authority, port });
  closers.push(() => service.close());
  return service;
}

/** A server below HTTP/2, for behaviour that no HTTP/2 server has. */
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

function failureOf(pushed: Promise<unknown>): Promise<ApnsUnreachableError> {
  return pushed.then(
    () => {
      throw new Error('the push was answered');
    },
    (error: ApnsUnreachableError) => error,
  );
}

/** The next request, held unanswered. */
function nextRequest(service: ApnsService): Promise<Received> {
  return new Promise((resolve) => {
    service.reply = resolve;
  });
}

describe('a service that cannot be reached', () => {
  it('is reported, and not contacted until the back-off is over', async () => {
    const service = await startService({ authority });
    await service.close();
    const client = connect(service.host, { limits: { firstBackOff: 300 } });
    const failure = await failureOf(client.push(push));
    expect(failure).toMatchObject({
      kind: 'unreachable',
      code: 'push_service_unreachable',
      status: 503,
      message: `the push service at localhost:${service.port} cannot be reached (ECONNREFUSED)`,
      headers: { 'Retry-After': '1' },
    });
    expect(client.retryAt).toEqual(failure.retryAt);

    const back = await start(service.port);
    expect(await failureOf(client.push(push))).toBe(failure);
    expect(back.sessions).toHaveLength(0);

    await sleep(failure.retryAt.getTime() - Date.now() + 50);
    expect(client.retryAt).toBeUndefined();
    expect((await client.push(push)).status).toBe(200);
  });

  it('is contacted again after growing delays, up to the longest', async () => {
    const port = await listen(createServer((socket) => socket.destroy()));
    const limits = { firstBackOff: 40, maxBackOff: 160 };
    const client = connect(`https://localhost:${port}`, { limits });
    const delays: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { retryAt } = await failureOf(client.push(push));
      delays.push(retryAt.getTime() - Date.now());
      await sleep(Math.max(0, retryAt.getTime() - Date.now()) + 20);
    }
    const longest = [50, 100, 200, 200, 200];
    expect(delays.filter((delay, index) => delay > (longest[index] ?? 0))).toEqual([]);
    expect(delays[3]).toBeGreaterThan(60);
  });

  it('may be one that accepts the connection and sends nothing', async () => {
    const port = await listen(createServer());
    const client = connect(`https://localhost:${port}`, { limits: { connectTimeout: 100 } });
    const { kind, message } = await failureOf(client.push(push));
    expect(kind).toBe('unreachable');
    expect(message).toBe(`the push service at localhost:${port} does not answer`);
  });

  it('may be one with a certificate of an untrusted CA', async () => {
    const { host, port } = await start();
    const outsider = pemOf(await createAuthority()).cert;
    const { kind, message } = await failureOf(connect(host, { ca: outsider }).push(push));
    expect(kind).toBe('unreachable');
    expect(message).toMatch(
      new RegExp(
        `^the push service at localhost:${port} shows a certificate that is not trusted here ` +
          `\\(SELF_SIGNED_CERT_IN_CHAIN\\); APNS_CA_FILE names the CA$`,
      ),
    );
  });

  it('may be one with the certificate of another host', async () => {
    const identity = await createServerIdentity(authority, 'other.example.com');
    const port = await listen(createTlsServer(pemOf(identity)));
    const { kind, message } = await failureOf(connect(`https://localhost:${port}`).push(push));
    expect(kind).toBe('unreachable');
    expect(message).toMatch(
      /shows a certificate for another name \(ERR_TLS_CERT_ALTNAME_INVALID\); APNS_HOST must be the name in it$/,
    );
  });

  it('may be one that does not speak HTTP/2', async () => {
    const identity = await createServerIdentity(authority);
    const port = await listen(createTlsServer(pemOf(identity)));
    const { kind, message } = await failureOf(connect(`https://localhost:${port}`).push(push));
    expect(kind).toBe('unreachable');
    expect(message).toContain('it does not speak HTTP/2');
  });
});

describe('the push certificate', () => {
  /** RFC 8446, 6: a fatal alert. */
  function alertServer(description: number): Server {
    return createServer((socket) => {
      socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, description])));
    });
  }

  it.each([
    [42, 'BAD_CERTIFICATE'],
    [43, 'UNSUPPORTED_CERTIFICATE'],
    [44, 'CERTIFICATE_REVOKED'],
    [45, 'CERTIFICATE_EXPIRED'],
    [46, 'CERTIFICATE_UNKNOWN'],
    [48, 'UNKNOWN_CA'],
    [49, 'ACCESS_DENIED'],
    [116, 'CERTIFICATE_REQUIRED'],
  ])('is refused by alert %d', async (description, name) => {
    const port = await listen(alertServer(description));
    const { kind, message } = await failureOf(connect(`https://localhost:${port}`).push(push));
    expect(kind).toBe('certificate_refused');
    expect(message).toContain(`refuses the push certificate in the TLS handshake`);
    expect(message).toContain(`ALERT_${name})`);
  });

  it.each([
    [40, 'HANDSHAKE_FAILURE'],
    [70, 'PROTOCOL_VERSION'],
    [80, 'INTERNAL_ERROR'],
  ])('is not the reason of alert %d before it was sent', async (description, name) => {
    const port = await listen(alertServer(description));
    const { kind, message } = await failureOf(connect(`https://localhost:${port}`).push(push));
    expect(kind).toBe('unreachable');
    expect(message).toContain(name);
  });

  it('is refused by a GOAWAY with that reason', async () => {
    const service = await start();
    const client = connect(service.host);
    const pushed = failureOf(client.push(push));
    const { stream } = await nextRequest(service);
    stream.session?.goaway(0, 0, Buffer.from('{"reason":"BadCertificate"}'));
    stream.session?.destroy();
    expect(await pushed).toMatchObject({
      kind: 'certificate_refused',
      message: `the push service at localhost:${service.port} refuses the push certificate (BadCertificate)`,
    });
  });

  it('is refused by a GOAWAY after it has worked, too, and not used again at once', async () => {
    const service = await start();
    const client = connect(service.host);
    expect((await client.push(push)).status).toBe(200);
    const pushed = failureOf(client.push(push));
    const { stream } = await nextRequest(service);
    stream.session?.goaway(0, 1, Buffer.from('{"reason":"BadCertificateEnvironment"}'));
    const failure = await pushed;
    expect(failure.kind).toBe('certificate_refused');
    expect(failure.retryAt.getTime()).toBeGreaterThan(Date.now());
    expect(await failureOf(client.push(push))).toBe(failure);
    expect(service.sessions).toHaveLength(1);
  });

  it('is not used with the key of another one', async () => {
    const other = await createCredentials(authority);
    const mixed = { ...credentials, privateKey: other.privateKey };
    const client = connect('https://localhost:1', { credentials: mixed });
    const { kind, message, cause } = await failureOf(client.push(push));
    expect(kind).toBe('certificate_refused');
    expect(message).toContain('the push certificate and its key cannot be used');
    expect(cause).toMatchObject({ code: 'ERR_OSSL_X509_KEY_VALUES_MISMATCH' });
  });
});

describe('a request without an answer', () => {
  it('fails after its time limit; after two of them the connection is replaced', async () => {
    const service = await start();
    const client = connect(service.host, { limits: { requestTimeout: 100 } });
    expect((await client.push(push)).status).toBe(200);
    service.reply = () => undefined;
    const gone = once(service.sessions[0] ?? service.server, 'close');
    const name = `the push service at localhost:${service.port}`;
    const message = `${name} did not answer the request in time`;
    expect(await failureOf(client.push(push))).toMatchObject({ kind: 'unreachable', message });
    expect(service.sessions[0]?.destroyed).toBe(false);
    expect(await failureOf(client.push(push))).toMatchObject({ kind: 'unreachable', message });
    await gone;
    service.reply = delivered;
    expect((await client.push(push)).status).toBe(200);
    expect(service.sessions).toHaveLength(2);
  });

  it('is answered with its status when only the body does not end', async () => {
    const service = await start();
    service.reply = ({ stream }) => {
      stream.respond({ ':status': 503, 'retry-after': '7' });
      stream.write('{"reason":');
    };
    const client = connect(service.host, { limits: { requestTimeout: 100 } });
    for (let round = 0; round < 3; round += 1) {
      const answer = await client.push(push);
      expect(answer).toMatchObject({ status: 503, reason: null, retryAfter: 7 });
    }
    expect(service.sessions).toHaveLength(1);
  });

  it('does not count when another one was answered in between', async () => {
    const service = await start();
    const client = connect(service.host, { limits: { requestTimeout: 100 } });
    for (let round = 0; round < 3; round += 1) {
      service.reply = () => undefined;
      await failureOf(client.push(push));
      service.reply = delivered;
      expect((await client.push(push)).status).toBe(200);
    }
    expect(service.sessions).toHaveLength(1);
  });
});
