import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { DEP_LIMITS, type DepLimits, Exchanges } from '../../../src/dep/client/exchange.js';
import { ExchangeFailure } from '../../../src/dep/client/exchange-failure.js';
import { localhostIdentity } from '../../helpers/tls.js';
import { type DepService, startDepService } from './dep-service.js';

let service: DepService;
let secure: DepService;
let ca: string;
const opened: Exchanges[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  const { certificate, privateKey } = await localhostIdentity();
  ca = encodePem('CERTIFICATE', certificate.der);
  const key = encodePem('PRIVATE KEY', exportPrivateKey(privateKey));
  service = await startDepService();
  secure = await startDepService({ key, cert: ca });
});
afterEach(() => {
  for (const exchanges of opened.splice(0)) exchanges.close();
  for (const server of servers.splice(0)) server.close();
  service.reset();
});
afterAll(() => Promise.all([service.stop(), secure.stop()]));

function open(limits: Partial<DepLimits> = {}, trusted?: string): Exchanges {
  const exchanges = new Exchanges({ ...DEP_LIMITS, ...limits }, trusted);
  opened.push(exchanges);
  return exchanges;
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
const never = new AbortController().signal;

function send(host: string, exchanges = open(), signal = never) {
  const request = { method: 'POST' as const, url: new URL(`${host}/profile`), headers: {} };
  return exchanges.send({ ...request, body: '{"a":"ü"}' }, signal);
}

async function faultOf(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ExchangeFailure)) throw new Error('no ExchangeFault', { cause: error });
  const { message, mayHaveArrived, isLasting } = error;
  return { message, mayHaveArrived, isLasting };
}

/** A server that says this to whatever it hears, and then nothing more. */
async function serverSaying(words: string, ends = false): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(words);
      if (ends) socket.end();
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an exchange', () => {
  it('fails when no server listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await faultOf(send(`http://127.0.0.1:${port}`))).toEqual({
      message: 'refuses the connection (ECONNREFUSED)',
      mayHaveArrived: false,
      isLasting: false,
    });
  });

  it('fails for a server whose certificate is not trusted, and names the setting', async () => {
    expect(await faultOf(send(secure.host))).toEqual({
      message:
        'shows a certificate that is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT); ' +
        'DEP_CA_FILE names the CA',
      mayHaveArrived: false,
      isLasting: true,
    });
    const other = secure.host.replace('localhost', '127.0.0.1');
    expect(await faultOf(send(other, open({}, ca)))).toEqual({
      message:
        'shows a certificate for another name (ERR_TLS_CERT_ALTNAME_INVALID); ' +
        'DEP_HOST must be the name in it',
      mayHaveArrived: false,
      isLasting: true,
    });
    expect(secure.seen).toEqual([]);
  });

  it('works over TLS with a trusted CA', async () => {
    secure.answer(() => ({ status: 201, headers: { 'X-A': 'b' }, body: 'ü' }));
    const answer = await send(secure.host, open({}, ca));
    expect(answer).toMatchObject({ status: 201, body: 'ü', headers: { 'x-a': 'b' } });
    expect(secure.seen).toMatchObject([
      { method: 'POST', body: { a: 'ü' }, headers: { 'content-length': '10' } },
    ]);
  });

  it('has a time limit for the connection', async () => {
    const server = createServer();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    // The handshake of TLS is never answered.
    expect(await faultOf(send(`https://127.0.0.1:${port}`, open({ connect: 20 })))).toEqual({
      message: 'does not accept the connection in time (20 ms)',
      mayHaveArrived: false,
      isLasting: false,
    });
  });

  it.each([
    ['begins', ''],
    ['ends', `${HEAD}{`],
  ])('has a time limit until an answer %s', async (_, words) => {
    const host = await serverSaying(words);
    expect(await faultOf(send(host, open({ answer: 100 })))).toEqual({
      message: 'does not answer in time (100 ms)',
      mayHaveArrived: true,
      isLasting: false,
    });
  });

  it('reads an answer up to the size limit only', async () => {
    service.answer(() => ({ body: 'x'.repeat(100_001) }));
    expect(await faultOf(send(service.host, open({ answerBytes: 100_000 })))).toEqual({
      message: 'sends an answer of more than 100000 bytes',
      mayHaveArrived: true,
      isLasting: true,
    });
  });

  it.each([
    ['nothing', '', 'closed the connection (ECONNRESET)'],
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n', 'cannot be reached (HPE_INVALID_CONSTANT)'],
    ['half an answer', `${HEAD}{`, 'closed the connection (ECONNRESET)'],
  ])('fails when the server sends %s and closes the connection', async (_, words, message) => {
    expect(await faultOf(send(await serverSaying(words, true)))).toEqual({
      message,
      mayHaveArrived: true,
      isLasting: false,
    });
  });

  it('ends when it is aborted, before and during the request', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    service.answer(() => {
      controller.abort(reason);
      return undefined;
    });
    await expect(send(service.host, open(), controller.signal)).rejects.toBe(reason);
    await expect(send(service.host, open(), controller.signal)).rejects.toBe(reason);
    expect(service.seen).toHaveLength(1);
  });

  it('closes idle connections, and waits for a slow answer', async () => {
    const exchanges = open({ idle: 20 });
    service.answer((_, response) => {
      setTimeout(() => response.end('late'), 40);
      return undefined;
    });
    const late = await send(service.host, exchanges);
    expect(late.body).toBe('late');
    await service.disconnection();
    service.answer(() => ({ body: 'again' }));
    expect((await send(service.host, exchanges)).body).toBe('again');
    expect(service.connections()).toBe(2);
  });

  it('reuses a few connections', async () => {
    const exchanges = open({ sockets: 2 });
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.all(Array.from({ length: 5 }, () => send(service.host, exchanges)));
    }
    expect(service.seen).toHaveLength(15);
    expect(service.connections()).toBe(2);
  });
});
