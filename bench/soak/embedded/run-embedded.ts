import type { ScenarioResult } from '../scenario.js';
import { fullDisk } from './full-disk.js';
import { postmasterKill } from './postmaster-kill.js';
import { obstacleToSmallDisk } from './small-disk.js';

const POSTMASTER = 'postmaster-kill';
const DISK = 'full-disk';
const DEVICES = 20;

export interface EmbeddedOptions {
  /** Part of the names of the scenarios to run; all where it is empty. */
  only: string;
  kills: number;
  fullMs: number;
}

/** What befalls the embedded PostgreSQL of a server. The full disk is left out where it cannot be. */
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
