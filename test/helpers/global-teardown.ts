import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Stops the PostgreSQL of this run and removes its prepared data directory, if a test has made them. */
module.exports = async function globalTeardown(): Promise<void> {
  const run = process.env.MUSTER_TEST_RUN ?? '';
  const pidFile = join(run, 'pid');
  if (existsSync(pidFile)) await stop(Number(readFileSync(pidFile, 'utf8')));
  for (const name of ['prepared', 'prepared.new']) {
    const link = join(run, name);
    if (existsSync(link)) rmSync(realpathSync(link), { recursive: true, force: true });
  }
  rmSync(run, { recursive: true, force: true });
};

async function stop(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM');
    for (;;) {
      await sleep(20);
      process.kill(pid, 0);
    }
  } catch {
    // It has ended.
  }
}
