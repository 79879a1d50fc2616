import type { ScenarioResult } from '../scenario.js';
import { type Feeding, feed, type Parser } from './feed.js';
import { parsers } from './parsers.js';

/** Far above what any takes. */
const HANGS_MS = 2_000;
/** What the heap may swing without a leak; a leak of 1 KB for each input would be 100. */
const MAX_GROWTH_MB = 20;

/** Feeds each parser of untrusted bytes mutated inputs: no crash, no hang, no leak. */
export async function mutations(inputs: number, seed: string): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const parser of await parsers()) results.push(await feedOne(parser, inputs, seed));
  return results;
}

async function feedOne(parser: Parser, inputs: number, seed: string): Promise<ScenarioResult> {
  process.stderr.write(`mutations of a ${parser.name} …\n`);
  const { accepted, slowestMs, heapGrowthMb, ...rest } = await feed(parser, inputs, seed);
  const figures = { inputs, accepted, slowestMs, heapGrowthMb };
  const broken = brokenOf({ ...rest, accepted, slowestMs, heapGrowthMb });
  return { name: `mutations of a ${parser.name} (seed ${seed})`, broken, figures };
}

function brokenOf({ faults, slowestMs, heapGrowthMb }: Feeding): string[] {
  return [
    ...faults,
    ...(slowestMs > HANGS_MS ? [`one input took ${Math.round(slowestMs)} ms`] : []),
    ...(heapGrowthMb > MAX_GROWTH_MB ? [`the heap grew by ${Math.round(heapGrowthMb)} MB`] : []),
  ];
}
