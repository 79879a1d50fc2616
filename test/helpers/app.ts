import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Express } from 'express';
import request from 'supertest';
import { type Config, loadConfig } from '../../src/config/config.js';
import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import type { Database } from '../../src/db/connection/database.js';
import type { BodyLimits } from '../../src/http/bodies/body-reader.js';
import { drain, listen } from '../../src/http/server/listen.js';
import { createHttpServer } from '../../src/http/server/server.js';
import {
  type CertificateAuthority,
  ensureCertificateAuthority,
} from '../../src/pki/authority/authority.js';
import { type Container, createContainer } from '../../src/server/container.js';
import { capturingLogger, type LogLine } from '../http/log-lines.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { PASSWORD_COST } from './password-cost.js';
import { storePreparedAuthority } from './prepared-authority.js';

export const MASTER_KEY = Buffer.alloc(32, 7);
export const ADMIN_TOKEN = 'admin-token-of-the-tests';
export const PUBLIC_URL = 'https://mdm.example.com';

export interface TestApp {
  url: string;
  server: Server;
  /** The Express app alone. */
  app: Express;
  db: Database;
  box: SecretBox;
  authority: CertificateAuthority;
  config: Config;
  container: Container;
  database: TestDatabase;
  logLines: LogLine[];
  logText(): string;
  /** Resolves once no stored report waits for its handler. */
  waitForReports(): Promise<void>;
  /** Stops the server and the background work; the database stays. */
  halt(): Promise<void>;
  /** Halts and drops the database. */
  stop(): Promise<void>;
}

export interface TestAppOptions {
  /** Environment variables beside the usual ones. */
  env?: Record<string, string>;
  /** Of an app that was halted; a new one without. */
  database?: TestDatabase;
  /** False leaves the background sweep asleep. */
  isSweeping?: boolean;
  masterKey?: Buffer;
  bodyLimits?: BodyLimits;
  consoleDirectory?: string;
}

/** The whole product, but for the process around it, on a database of its own. */
export async function startApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { env = {}, isSweeping = true, database = await createTestDatabase() } = options;
  const { masterKey = MASTER_KEY, bodyLimits, consoleDirectory } = options;
  const { db } = database;
  // The lab writes files.
  const directory = env.LAB === 'on' ? mkdtempSync(join(tmpdir(), 'muster-lab-')) : undefined;
  const config = testConfig({ ...(directory && { DATA_DIR: directory }), ...env });
  const box = new SecretBox(masterKey);
  const { logger, lines: logLines, text: logText } = capturingLogger();
  if (options.database === undefined) await storePreparedAuthority(db, box);
  const container = await createContainer({
    config,
    db,
    box,
    logger,
    passwordCost: PASSWORD_COST,
    consoleDirectory,
    ...(bodyLimits && { bodyLimits }),
  });
  const authority = await ensureCertificateAuthority({ db, box, logger });
  const { app, deviceHandler, tls, metrics } = container;
  const onAnswer = metrics.observeRequest;
  const server = createHttpServer({ app, deviceHandler, logger, onAnswer, ...(tls && { tls }) });
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' });
  if (isSweeping) container.start();
  const halt = async () => {
    await haltServer(server, container);
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  };
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    server,
    app,
    db,
    box,
    authority,
    config,
    container,
    database,
    logLines,
    logText,
    halt,
    waitForReports: () => waitForReports(db),
    stop: async () => {
      await halt();
      await database.drop();
    },
  };
}

function testConfig(env: Record<string, string>): Config {
  const usual = {
    PORT: '0',
    PUBLIC_URL,
    ADMIN_TOKEN,
    MASTER_KEY: MASTER_KEY.toString('base64'),
    LOG_LEVEL: 'debug',
    // No test asks Apple anything, least of all by the clock.
    ...(env.LAB === 'on' ? {} : { DEP_HOST: 'http://127.0.0.1:9' }),
    DEP_SYNC_INTERVAL: 'off',
  };
  return loadConfig({ ...usual, ...env }, __dirname);
}

async function haltServer(server: Server, container: Container): Promise<void> {
  await Promise.all([server.listening ? drain(server, 1_000) : true, container.stopBackground()]);
  await container.stop();
}

async function waitForReports(db: Database): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const waiting = await db.knex('commands').where({ needs_handling: true }).first('id');
    if (waiting === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('a report was never handled');
}

/** The admin API; past a server with TLS, whose certificate no client here trusts. */
export function adminApi({ url, server, app }: TestApp, token = ADMIN_TOKEN) {
  const target = url.startsWith('https:') ? app : server;
  const send = (method: 'get' | 'post' | 'patch' | 'delete', path: string, body?: object) =>
    request(target)[method](`/api/v1${path}`).set('Authorization', `Bearer ${token}`).send(body);
  return {
    get: (path: string) => send('get', path),
    post: (path: string, body?: object) => send('post', path, body),
    patch: (path: string, body: object) => send('patch', path, body),
    delete: (path: string, body?: object) => send('delete', path, body),
  };
}

/** The document that creates a command for a device. */
export function commandDocument(
  deviceId: number,
  request_type: string,
  attributes: Record<string, unknown> = {},
) {
  const device = { data: { type: 'devices', id: deviceId } };
  const data = { type: 'commands', attributes: { request_type, ...attributes } };
  return { data: { ...data, relationships: { device } } };
}
