import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, isIPv6, type Server } from 'node:net';
import { certificatePem, type LabAuthority } from '../authority/lab-authority.js';
import { AnswerRules } from './answer-rules.js';
import { PushCounts } from './push-counts.js';
import { PushDesk } from './push-desk.js';
import { PushServer } from './push-server.js';
import { createSideServer } from './side-server.js';
import type { ApnsStandInControl } from './stand-in-control.js';
import { TokenStore } from './token-store.js';

export interface ApnsStandInOptions {
  /** Issues the server's certificate and is believed of push certificates. */
  authority: LabAuthority;
  /** A free one when 0 or absent. */
  port?: number;
  /** Of the courier and the control; a free one when 0 or absent. */
  sidePort?: number;
  /** A loopback address. */
  host?: string;
  maxConcurrentStreams?: number;
  /** Only tests change it. */
  mostTokens?: number;
}

/**
 * Stands where Apple's push service does: the same protocol over a real socket, the same checks.
 * The courier and the control lie on a port of their own, without TLS: what is done to the
 * connections of pushers doesn't touch them, and any HTTP client can reach them.
 */
export interface ApnsStandIn extends ApnsStandInControl {
  /** For pushes: https, certificates and pushes as Apple wants them. */
  readonly url: string;
  /** Where devices wait for their pushes; see `connectCourier`. */
  readonly courierUrl: string;
  /** /lab/answers, /lab/connections, /lab/pushes and /lab/tokens. */
  readonly controlUrl: string;
  /** Whom pushers must believe. */
  readonly caPem: string;
  close(): Promise<void>;
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

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
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

async function closeAll(pushServer: PushServer, side: HttpServer): Promise<void> {
  const all = Promise.all([closed(pushServer.server), closed(side)]);
  pushServer.destroyConnections();
  side.closeAllConnections();
  await all;
}

/** Rejects when a port is taken. */
export async function startApnsStandIn(options: ApnsStandInOptions): Promise<ApnsStandIn> {
  const { authority, port = 0, sidePort = 0, host = '127.0.0.1' } = options;
  const { maxConcurrentStreams = 1_000, mostTokens } = options;
  const parts = {
    store: new TokenStore(mostTokens),
    rules: new AnswerRules(),
    counts: new PushCounts(),
  };
  const desk = new PushDesk(parts);
  const pushServer = await PushServer.create({ authority, desk, host, maxConcurrentStreams });
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
