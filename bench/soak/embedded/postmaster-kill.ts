import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readPostmaster } from '../../../src/embedded-postgres/postmaster-pid.js';
import type { ScenarioResult } from '../scenario.js';
import { EmbeddedWorld } from './embedded-world.js';

/** Longer apart than the time after which PostgreSQL counts as stable. */
const PAUSE_MS = 12_000;
const PROMISED_S = 3;
const GIVE_UP_MS = 60_000;

/** kill -9 of the embedded PostgreSQL under a server with devices, again and again. */
export async function postmasterKill(rounds: number, devices: number): Promise<ScenarioResult> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-soak-'));
  chmodSync(directory, 0o711);
  const world = await EmbeddedWorld.open(directory, devices);
  const seconds: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      await sleep(PAUSE_MS);
      process.kill(readPostmaster(join(directory, 'postgres', 'data'))?.pid ?? 0, 'SIGKILL');
      seconds.push(await world.untilWell(GIVE_UP_MS));
    }
    const broken = await world.brokenPromises();
    const slowest = Math.max(...seconds);
    if (slowest >= PROMISED_S) broken.push(`a restart took ${slowest.toFixed(1)} s`);
    const mean = seconds.reduce((sum, one) => sum + one, 0) / seconds.length;
    const figures = { rounds, meanSeconds: mean, slowestSeconds: slowest, ...world.figures };
    return { name: 'kill -9 of the embedded PostgreSQL', broken, figures };
  } finally {
    await world.close();
    rmSync(directory, { recursive: true, force: true });
  }
}
