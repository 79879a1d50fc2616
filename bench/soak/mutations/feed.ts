import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AppError } from '../../../src/errors.js';
import { Random } from '../../../src/lab/devices/random.js';
import { mutate } from './mutate.js';

/** A parser of untrusted bytes, with inputs that it accepts. */
export interface Parser {
  name: string;
  seeds: Buffer[];
  /** Throws AppError for input that it refuses; any other error is a bug. */
  parse(bytes: Buffer): unknown;
}

export interface Feeding {
  inputs: number;
  /** How many mutated inputs it accepted. */
  accepted: number;
  slowestMs: number;
  /** Growth of the heap between the first tenth and the end, in megabytes. */
  heapGrowthMb: number;
  /** At most ten, with the input in hexadecimal. */
  faults: string[];
}

const MAX_FAULTS = 10;
const MEGABYTE = 1024 * 1024;

/** Feeds mutations of its seeds to the parser. The same seed produces the same inputs. */
export async function feed(parser: Parser, inputs: number, seed: string): Promise<Feeding> {
  const random = new Random(`${seed}/${parser.name}`);
  const result: Feeding = { inputs, accepted: 0, slowestMs: 0, heapGrowthMb: 0, faults: [] };
  let heapBefore = heapUsed();
  for (let index = 0; index < inputs; index += 1) {
    const original = parser.seeds[index % parser.seeds.length] ?? Buffer.alloc(0);
    const bytes = mutate(original, random);
    const startedAt = performance.now();
    const outcome = await outcomeOf(parser, bytes);
    result.slowestMs = Math.max(result.slowestMs, performance.now() - startedAt);
    if (outcome === true) result.accepted += 1;
    if (typeof outcome === 'string' && result.faults.length < MAX_FAULTS) {
      result.faults.push(`${outcome} for ${bytes.toString('hex')}`);
    }
    if (index === Math.floor(inputs / 10)) heapBefore = heapUsed();
  }
  result.heapGrowthMb = (heapUsed() - heapBefore) / MEGABYTE;
  return result;
}

/** Without a collection the heap swings by more than a leak would show. */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function outcomeOf({ parse }: Parser, bytes: Buffer): Promise<boolean | string> {
  try {
    await parse(bytes);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return false;
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
}
