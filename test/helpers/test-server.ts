import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { connectDatabase } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { isRunning, processesNaming } from '../../src/embedded-postgres/processes.js';
import { createLogger } from '../../src/logger.js';
import { connectionUrl } from './connection-url.js';
import { temporaryRoot } from './temporary-directory.js';

export const TEMPLATE = 'muster_test_template';

const PREFIX = 'muster-test-server-';

export interface TestServer {
  /** Of the migrated template database; `createTestDatabase` clones it. */
  templateUrl: string;
  stop(): Promise<void>;
}

/** Tests need no durability, and many small databases. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
  shared_buffers: '64MB',
  max_connections: '200',
};

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function makeTemplate(serverUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`drop database if exists ${TEMPLATE}`);
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  const templateUrl = withDatabase(serverUrl, TEMPLATE);
  const db = connectDatabase({ connectionString: templateUrl, poolSize: 1 });
  await migrate(db, { logger: createLogger('warn') });
  await db.close();
  return templateUrl;
}

/** Servers whose jest was killed are of no use to anybody. */
function removeAbandoned(): void {
  const root = temporaryRoot();
  const names = readdirSync(root).filter((name) => name.startsWith(PREFIX));
  for (const directory of names.map((name) => join(root, name))) {
    const lock = join(directory, 'data', 'muster.lock');
    if (!existsSync(lock) || isRunning(JSON.parse(readFileSync(lock, 'utf8')))) continue;
    try {
      for (const pid of processesNaming(directory) ?? []) process.kill(pid, 'SIGQUIT');
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    } catch {
      // Another user's: left to that user.
    }
  }
}

async function startEmbedded(): Promise<{ url: string; stop(): Promise<void> }> {
  removeAbandoned();
  const directory = mkdtempSync(join(temporaryRoot(), PREFIX));
  // Under root PostgreSQL runs as another user, who has to pass.
  chmodSync(directory, 0o711);
  // A password costs each of some two thousand connections a derivation at both ends; the socket lies
  // in a private folder, and the embedded server's own tests sign in with one.
  const hba = join(directory, 'hba.conf');
  writeFileSync(hba, 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n', {
    mode: 0o644,
  });
  const embedded = await openEmbedded({
    dataDir: join(directory, 'data'),
    logger: createLogger('warn'),
    mode: 'serve',
    settings: { ...SETTINGS, hba_file: hba },
  });
  const stop = async () => {
    await embedded.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: connectionUrl(embedded.connection), stop };
}

/** `serverUrl` names another PostgreSQL to test against; without it the embedded one is started. */
export async function startTestServer(serverUrl: string | undefined): Promise<TestServer> {
  const server =
    serverUrl === undefined
      ? await startEmbedded()
      : { url: serverUrl, stop: () => Promise.resolve() };
  return { templateUrl: await makeTemplate(server.url), stop: server.stop };
}
