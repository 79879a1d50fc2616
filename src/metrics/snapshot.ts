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
  /** A reading that is older is not waited for while it has some figures: a large fleet takes long to count. */
  maxWholeWaitMs?: number | undefined;
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

interface Reading<T> {
  startedAt: number;
  /** What has been read until now. */
  values: Partial<T>;
  /** Resolves with the first value. */
  first: Promise<void>;
  whole: Promise<void>;
}

/**
 * Reads the sources one after the other; concurrent scrapes share one reading. If a new reading takes long, a
 * scrape gets the stale figures, and the next scrape gets the new ones. Without former figures it gets those
 * that have been read.
 */
export function createSnapshot<T extends object>(
  sources: Sources<T>,
  options: SnapshotOptions,
): Snapshot<T> {
  const { maxAgeMs = 10_000, deadlineMs = 3_000, now = Date.now } = options;
  const { waitMs = 30, maxWholeWaitMs = 1_000 } = options;
  const readAll = createReader(sources, options.logger);
  let last: { values: Partial<T>; staleAt: number; uselessAt: number } | undefined;
  let reading: Reading<T> | undefined;

  function begin(): Reading<T> {
    const startedAt = now();
    const values: Partial<T> = {};
    let found = () => {};
    const first = new Promise<void>((resolve) => {
      found = resolve;
    });
    const whole = readAll(values, found).then(() => {
      const age = Math.max(maxAgeMs, AGE_PER_DURATION * (now() - startedAt));
      last = { values, staleAt: startedAt + age, uselessAt: startedAt + 3 * age };
      reading = undefined;
    });
    return { startedAt, values, first, whole };
  }

  const isUseful = () => last !== undefined && now() < last.uselessAt;

  async function readWithoutFormer({ startedAt, values, first, whole }: Reading<T>) {
    await withDeadline(Promise.race([first, whole]), deadlineMs);
    const wait = Math.max(waitMs, maxWholeWaitMs - (now() - startedAt));
    if (Object.keys(values).length > 0) await withDeadline(whole, Math.min(wait, deadlineMs));
    return values;
  }

  return {
    start: () => {
      reading ??= begin();
    },
    read: async () => {
      if (last !== undefined && now() < last.staleAt) return last.values;
      reading ??= begin();
      if (!isUseful()) return await readWithoutFormer(reading);
      await withDeadline(reading.whole, Math.min(waitMs, deadlineMs));
      return last?.values ?? {};
    },
  };
}

/** Logs when a source begins to fail, not at every scrape. */
function createReader<T extends object>(sources: Sources<T>, logger: Logger) {
  const failing = new Set<keyof T>();
  return async (values: Partial<T>, found: () => void): Promise<void> => {
    for (const name of Object.keys(sources) as (keyof T)[]) {
      try {
        values[name] = await sources[name]();
        found();
        failing.delete(name);
      } catch (error) {
        const isNew = !failing.has(name);
        failing.add(name);
        if (isNew) logger.warn({ err: error, figures: name }, 'metrics lack what cannot be read');
      }
    }
  };
}

async function withDeadline(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
