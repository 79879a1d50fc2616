import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, isIPv6, type Server } from 'node:net';
import { certificatePem, type LabAuthority } from '../pki/lab-authority.js';
import { isLocalProgram } from '../wire/control-http.js';
import { AnswerRules } from './answer-rules.js';
import { type ApnsStandInControl, serveControl } from './control.js';
import { serveCourier } from './courier.js';
import { ProviderApi } from './provider-api.js';
import { PushCounts } from './push-counts.js';
import { PushServer } from './push-server.js';
import { TokenStore } from './token-store.js';

export interface ApnsStandInOptions {
  /** Issues the server's certificate and is trusted for push certificates. */
  authority: LabAuthority;
  /** A free one when 0 or absent. */
  port?: number;
  /** Port of the courier and the control; a free one when 0 or absent. */
  sidePort?: number;
  /** A loopback address. */
  host?: string;
  maxConcurrentStreams?: number;
  /** Only tests change it. */
  maxTokens?: number;
}

/**
 * A stand-in for Apple's push service: the same protocol over a real socket, the same checks.
 * The courier and the control have a port of their own, without TLS, so that faults injected into
 * the connections of pushers don't affect them and any HTTP client can reach them.
 */
export interface ApnsStandIn extends ApnsStandInControl {
  /** For pushers: https, with the certificates and pushes that Apple requires. */
  readonly url: string;
  /** Where devices wait for their pushes; see `CourierClient`. */
  readonly courierUrl: string;
  /** /lab/answers, /lab/connections, /lab/pushes and /lab/tokens. */
  readonly controlUrl: string;
  /** The CA that pushers must trust. */
  readonly caPem: string;
  close(): Promise<void>;
}

/** Rejects when a port is taken. */
export async function startApnsStandIn(options: ApnsStandInOptions): Promise<ApnsStandIn> {
  const { authority, port = 0, sidePort = 0, host = '127.0.0.1' } = options;
  const { maxConcurrentStreams = 1_000, maxTokens } = options;
  const parts = {
    store: new TokenStore(maxTokens),
    rules: new AnswerRules(),
    counts: new PushCounts(),
  };
  const api = new ProviderApi(parts);
  const pushServer = await PushServer.create({ authority, api, host, maxConcurrentStreams });
  const control = createControl(pushServer, parts);
  const side = createSideServer(parts.store, control);
  const name = isIPv6(host) ? `[${host}]` : host;
  const pushPort = await listenOn(pushServer.server, port, host);
  const sideUrl = `http://${name}:${await listenOn(side, sidePort, host)}`;
  return {
    ...control,
    url: `https://${name}:${pushPort}`,
    courierUrl: sideUrl,
    controlUrl: sideUrl,
    caPem: certificatePem(authority),
    close: () => closeAll(pushServer, side),
  };
}

function createControl(
  pushServer: PushServer,
  { store, rules, counts }: { store: TokenStore; rules: AnswerRules; counts: PushCounts },
): ApnsStandInControl {
  return {
    addAnswer: (rule) => rules.add(rule),
    answers: () => rules.rules,
    clearAnswers: () => rules.clear(),
    goAway: (reason = 'Shutdown') => pushServer.goAway(reason),
    destroyConnections: () => pushServer.destroyConnections(),
    refuseConnections: (how) => {
      pushServer.refusal = how;
    },
    report: () => ({
      ...counts.answered(),
      ...store.counters(),
      connections: pushServer.connections,
    }),
    token: (token) => store.report(token.toLowerCase()),
    tokens: () => store.reports(),
    resetCounters: () => {
      counts.reset();
      store.resetCounters();
    },
  };
}

/** Serves the courier of the devices and the control of the stand-in. */
function createSideServer(store: TokenStore, control: ApnsStandInControl): HttpServer {
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (!isLocalProgram(request)) {
      response.writeHead(403).end();
    } else if (request.url === '/courier' && request.method === 'POST') {
      serveCourier(store, request, response);
    } else {
      serveControl(control, request, response).catch(() => response.destroy());
    }
  };
  // A courier's request has no end.
  return createServer({ requestTimeout: 0, headersTimeout: 20_000 }, serve);
}

function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function closeAll(pushServer: PushServer, side: HttpServer): Promise<void> {
  const all = Promise.all([closed(pushServer.server), closed(side)]);
  pushServer.destroyConnections();
  side.closeAllConnections();
  await all;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
