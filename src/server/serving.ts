import type { AddressInfo } from 'node:net';
import { ensureAdminToken } from '../auth/first-admin-token.js';
import { createFirstSignInLink, LINK_MINUTES } from '../auth/sign-in-links.js';
import { type Config, isLoopback } from '../config/config.js';
import type { ConnectionSettings, Database } from '../db/connection/database.js';
import { builtConsole, hasConsole } from '../http/pages/console-files.js';
import { drain, listen, listenError } from '../http/server/listen.js';
import { createHttpServer } from '../http/server/server.js';
import type { Logger } from '../logger.js';
import type { Container } from './container.js';

export interface RunningServer {
  /** Where it listens; the port is the real one when PORT was 0. */
  url: string;
  /** Where devices reach this server. */
  publicUrl: string;
  /** PEM of its certificate, when it speaks TLS. */
  certificate: string | undefined;
  /** Rejects when it can serve no longer. */
  failed: Promise<never>;
  /** Drains and stops everything, the embedded database last. */
  stop(): Promise<void>;
}

export interface OpenDatabase {
  db: Database;
  /** How another process connects to it. */
  reach: { connectionString: string } | { connection: ConnectionSettings };
  close(): Promise<void>;
}

const DRAIN_MS = 5_000;

function warnOfSettings(config: Config, { publicUrl, tls }: Container, logger: Logger): void {
  for (const { name, nearest } of config.unknownSettings) {
    const hint = nearest === undefined ? '.env.example has them all' : `did you mean ${nearest}?`;
    logger.warn({ variable: name }, `${name} is no setting and has no effect; ${hint}`);
  }
  const { hostname, port } = new URL(publicUrl);
  if (port === '0')
    logger.warn(
      { publicUrl },
      'PUBLIC_URL ends in port 0, which devices cannot reach; with PORT=0 set PUBLIC_URL',
    );
  if (config.tlsClientCert && tls === undefined)
    logger.warn('TLS_CLIENT_CERT=on has no effect: this server speaks plain HTTP');
  if (config.enrollment !== 'open' || isLoopback(hostname)) return;
  logger.warn(
    'ENROLLMENT=open: anyone who reaches this server can enroll a device; set link or closed',
  );
}

/** Makes the first token where the configuration has none. */
export async function requireAdminToken(
  { adminToken, dataDir }: Config,
  db: Database,
  logger: Logger,
): Promise<void> {
  if (adminToken === undefined) await ensureAdminToken({ db, dataDir, logger });
}

/** Logs a sign-in link if the console is built and no one has signed in yet. */
export async function offerSignIn(
  { publicUrl }: Pick<Container, 'publicUrl'>,
  { adminToken, role }: Config,
  { db, logger, consoleDirectory = builtConsole() }: SignInOffer,
): Promise<void> {
  if (role === 'worker' || !hasConsole(consoleDirectory)) return;
  const link = await createFirstSignInLink({ db, publicUrl, adminToken });
  if (link === undefined) return;
  logger.info(`Open the console, once and within ${LINK_MINUTES} minutes: ${link.url}`);
}

interface SignInOffer {
  db: Database;
  logger: Logger;
  /** By default where the build puts the console. */
  consoleDirectory?: string | undefined;
}

/** Listens and begins the background work. Nothing is left running when it can not. */
export async function listenWith(
  container: Container,
  config: Config,
  logger: Logger,
): Promise<{ address: AddressInfo; stop(): Promise<void> }> {
  const { app, deviceHandler, tls } = container;
  const options = { app, deviceHandler, logger, onAnswer: container.metrics.observeRequest };
  const server = createHttpServer(tls === undefined ? options : { ...options, tls });
  const listening = container.announce().then(() => listen(server, config));
  const address = await listening.catch(async (error: unknown) => {
    await container.stopBackground();
    await container.stop();
    throw listenError(error, config);
  });
  container.start();
  const stop = async () => {
    await Promise.all([drain(server, DRAIN_MS), container.stopBackground()]);
    await container.stop();
  };
  return { address, stop };
}

/** Logs where the server is, and what is odd about its settings. Returns its URL. */
export function announceServing({
  container,
  address,
  config,
  logger,
}: {
  container: Container;
  address: AddressInfo;
  config: Config;
  logger: Logger;
}): string {
  const { publicUrl, tls } = container;
  warnOfSettings(config, container, logger);
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  const url = `${tls === undefined ? 'http' : 'https'}://${host}:${address.port}`;
  logger.info({ url, publicUrl }, `Muster is serving at ${url}`);
  return url;
}
