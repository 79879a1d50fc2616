import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { newHome, runToEnd } from './process.js';
import { temporaryRoot } from './temporary-directory.js';

const WAIT_MS = 60_000;
const POLL_MS = 20;

/**
 * A DATA_DIR of its own with a migrated database in it, and no key or token yet: a copy of the one that
 * this run of jest has made, for tests of what comes after the first start.
 */
export async function preparedDataDir(): Promise<string> {
  const dataDir = join(newHome(), 'data');
  const original = await preparedOnce();
  // Where PostgreSQL's account cannot reach DATA_DIR, the cluster lies elsewhere and cannot be copied.
  if (original === undefined || !existsSync(join(original, 'postgres', 'data'))) return dataDir;
  await promisify(execFile)('cp', ['-a', original, dataDir]); // with the owners of the files
  return dataDir;
}

async function preparedOnce(): Promise<string | undefined> {
  const run = process.env.MUSTER_TEST_RUN;
  if (run === undefined) return undefined;
  const [made, failed] = [join(run, 'prepared'), join(run, 'prepared-failed')];
  if (isFirst(run)) await make(made).catch((error: Error) => writeFileSync(failed, String(error)));
  for (const end = Date.now() + WAIT_MS; !existsSync(made); await sleep(POLL_MS)) {
    if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'));
    if (Date.now() > end) throw new Error('no prepared data directory');
  }
  return join(made, 'data');
}

function isFirst(run: string): boolean {
  try {
    mkdirSync(join(run, 'prepared-started'));
    return true;
  } catch {
    return false;
  }
}

/** The folder of the run has a link to it, which `global-teardown.ts` follows. */
async function make(link: string): Promise<void> {
  const home = mkdtempSync(join(temporaryRoot(), 'muster-test-prepared-'));
  chmodSync(home, 0o711);
  symlinkSync(home, `${link}.new`);
  const { code, output } = await runToEnd(['migrate'], { dataDir: join(home, 'data') });
  if (code !== 0) throw new Error(`muster migrate ended with ${code}: ${output}`);
  renameSync(`${link}.new`, link);
}
