// The PostgreSQL of one run of jest: node --require ./scripts/typescript.cjs test-server-child.ts RUN_FOLDER
// Writes the URL of its template database into the folder, and ends with SIGTERM or with jest.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestServer, type TestServer } from './test-server.js';

const [run = ''] = process.argv.slice(2);
const jest = Number(readFileSync(join(run, 'jest'), 'utf8'));

function publish(name: string, text: string): void {
  writeFileSync(join(run, `${name}.new`), text);
  renameSync(join(run, `${name}.new`), join(run, name));
}

function jestRuns(): boolean {
  try {
    return process.kill(jest, 0);
  } catch {
    return false;
  }
}

async function stopWith(server: TestServer): Promise<void> {
  await server.stop();
  process.exit(0);
}

async function main(): Promise<void> {
  publish('pid', String(process.pid));
  const server = await startTestServer(process.env.MUSTER_TEST_SERVER_URL);
  process.once('SIGTERM', () => void stopWith(server));
  setInterval(() => {
    if (!jestRuns()) void stopWith(server);
  }, 1_000);
  publish('url', server.templateUrl);
}

main().catch((error: unknown) => {
  publish('failed', error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
});
