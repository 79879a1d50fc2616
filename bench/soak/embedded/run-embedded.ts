import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPostmaster } from '../../../src/embedded-postgres/postmaster-pid.js';
import { makeBenchDirectory } from '../../load/bench-directory.js';
import type { ScenarioResult } from '../scenario.js';
import { EmbeddedFixture } from './embedded-fixture.js';
import { fullDisk, obstacleToSmallDisk } from './full-disk.js';

const POSTMASTER = 'postmaster-kill';
const DISK = 'full-disk';
const DEVICES = 20;

export interface EmbeddedOptions {
  /** Part of the names of the scenarios to run; all where it is empty. */
  only: string;
  kills: number;
  fullMs: number;
}

/** Failures of a server's embedded PostgreSQL. The full disk is skipped where it is impossible. */
export async function runEmbedded(options: EmbeddedOptions): Promise<ScenarioResult[]> {
  const { only, kills, fullMs } = options;
  const results: ScenarioResult[] = [];
  if (POSTMASTER.includes(only)) {
    process.stderr.write(`${POSTMASTER} …\n`);
    results.push(await postmasterKill(kills, DEVICES));
  }
  if (!DISK.includes(only)) return results;
  const obstacle = obstacleToSmallDisk();
  if (obstacle === undefined) {
    process.stderr.write(`${DISK} …\n`);
    results.push(await fullDisk(fullMs, DEVICES));
  } else if (only === '') {
    process.stderr.write(`${DISK} was left out: it ${obstacle}\n`);
  } else {
    throw new Error(`${DISK} ${obstacle}`);
  }
  return results;
}

/** Longer apart than the time after which PostgreSQL counts as stable. */
const PAUSE_MS = 12_000;
const PROMISED_S = 3;
const GIVE_UP_MS = 60_000;

/** Repeated kill -9 of the embedded PostgreSQL under a server with devices. */
async function postmasterKill(rounds: number, devices: number): Promise<ScenarioResult> {
  const directory = makeBenchDirectory('muster-soak-');
  chmodSync(directory, 0o711);
  const fixture = await EmbeddedFixture.open(directory, devices);
  const seconds: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      await sleep(PAUSE_MS);
      process.kill(readPostmaster(join(directory, 'postgres', 'data'))?.pid ?? 0, 'SIGKILL');
      seconds.push(await fixture.untilWell(GIVE_UP_MS));
    }
    const broken = await fixture.brokenPromises();
    const slowest = Math.max(...seconds);
    if (slowest >= PROMISED_S) broken.push(`a restart took ${slowest.toFixed(1)} s`);
    const mean = seconds.reduce((sum, one) => sum + one, 0) / seconds.length;
    const figures = { rounds, meanSeconds: mean, slowestSeconds: slowest, ...fixture.figures };
    return { name: 'kill -9 of the embedded PostgreSQL', broken, figures };
  } finally {
    await fixture.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
