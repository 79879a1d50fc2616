import type { Logger } from '../logger.js';

/** One reader for each group of figures. */
export type Sources<T> = { readonly [Name in keyof T]: () => Promise<T[Name]> };

export interface SnapshotOptions {
  logger: Logger;
  maxAgeMs?: number | undefined;
  /** A scrape waits no longer than this for the database, while there are no figures at all. */
  deadlineMs?: number | undefined;
  /** While there are former figures, which it gets otherwise, it waits no longer than this. */
  waitMs?: number | undefined;
  now?: (() => number) | undefined;
}

export interface Snapshot<T> {
  /** Begins the first reading. */
  start(): void;
  /** Recent figures; those that could not be read are absent. Never rejects. */
  read(): Promise<Partial<T>>;
}

/** Figures are kept twenty times as long as reading them took, so that scrapes never load a database. */
const AGE_PER_DURATION = 20;

/**
 * Reads the sources one after the other; concurrent scrapes share one reading. If a new reading takes long, a
 * scrape gets the stale figures, and the next scrape gets the new ones.
 */
export function createSnapshot<T extends object>(
  sources: Sources<T>,
  options: SnapshotOptions,
): Snapshot<T> {
  const { maxAgeMs = 10_000, deadlineMs = 3_000, waitMs = 30, now = Date.now } = options;
  const readAll = createReader(sources, options.logger);
  let last: { values: Partial<T>; staleAt: number; uselessAt: number } | undefined;
  let reading: Promise<void> | undefined;

  async function refresh(): Promise<void> {
    const started = now();
    const values = await readAll();
    const age = Math.max(maxAgeMs, AGE_PER_DURATION * (now() - started));
    last = { values, staleAt: started + age, uselessAt: started + 3 * age };
    reading = undefined;
  }

  const isUseful = () => last !== undefined && now() < last.uselessAt;
  return {
    start: () => {
      reading ??= refresh();
    },
    read: async () => {
      if (last === undefined || now() >= last.staleAt) {
        reading ??= refresh();
        await withDeadline(reading, isUseful() ? Math.min(waitMs, deadlineMs) : deadlineMs);
      }
      return last !== undefined && isUseful() ? last.values : {};
    },
  };
}

/** Logs when a source begins to fail, not at every scrape. */
function createReader<T extends object>(sources: Sources<T>, logger: Logger) {
  const failing = new Set<keyof T>();
  return async (): Promise<Partial<T>> => {
    const values: Partial<T> = {};
    for (const name of Object.keys(sources) as (keyof T)[]) {
      try {
        values[name] = await sources[name]();
        failing.delete(name);
      } catch (error) {
        const isNew = !failing.has(name);
        failing.add(name);
        if (isNew) logger.warn({ err: error, figures: name }, 'metrics lack what cannot be read');
      }
    }
    return values;
  };
}

async function withDeadline(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
