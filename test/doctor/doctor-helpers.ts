import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '../../src/config/config.js';
import type { Database } from '../../src/db/connection/database.js';
import type { Check, CredentialReport } from '../../src/doctor/check.js';
import { Doctor, type DoctorOptions } from '../../src/doctor/doctor.js';
import { error, type Finding, type Found } from '../../src/doctor/finding.js';

export interface Examined {
  checks: readonly Check[];
  /** Environment variables. */
  env?: Record<string, string>;
  db?: Database;
  credentials?: () => Promise<CredentialReport>;
  options?: Partial<DoctorOptions>;
}

const NO_DATABASE = error('database_unreachable', { what: 'none', why: 'a test', cure: 'none' });

/** What the checks find with these settings. */
export async function examine({ checks, env = {}, db, credentials, options = {} }: Examined) {
  const read = credentials ?? (async () => ({ credentials: [], warnings: [] }));
  const doctor = new Doctor({
    config: loadConfig({ DATA_DIR: '/nonexistent', ...env }, __dirname),
    servesTls: false,
    isLabOn: false,
    apnsCa: undefined,
    fileProblems: [],
    now: () => new Date(),
    database: db === undefined ? { failure: NO_DATABASE } : { db, credentials: read },
    checks,
    ...options,
  });
  const { findings } = await doctor.examine();
  return findings.filter(({ what }) => what !== NO_DATABASE.what);
}

/** `severity code` of each. */
export function brief(findings: readonly (Finding | Found)[]): string[] {
  return findings.map(({ severity, code }) => `${severity} ${code}`);
}

export const READY = JSON.stringify({ status: 'ready', checks: { database: 'ok' } });

/** Answers every path as a server that is ready, and no CA. */
export const answerReady: RequestListener = (req, res) => {
  const isReadyz = req.url === '/readyz';
  res.writeHead(isReadyz ? 200 : 404, { 'Content-Type': 'application/json' });
  res.end(isReadyz ? READY : '{}');
};

const servers: Server[] = [];

/** Listens on loopback until `closeServers`. Returns the port. */
export async function listenWith(
  listener: RequestListener = answerReady,
  tls?: ServerOptions,
): Promise<number> {
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  server.on('tlsClientError', () => undefined);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

export async function closeServers(): Promise<void> {
  const closing = servers.splice(0).map((server) => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  await Promise.all(closing);
}
