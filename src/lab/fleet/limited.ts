export interface LimitedOptions {
  /** Most pieces of work under way at once. */
  limit: number;
  /** Once aborted, nothing new is begun. */
  signal: AbortSignal;
}

/** Runs `work` over all items, a limited number at a time. Rejects with the first failure. */
export async function forEachLimited<T>(
  items: readonly T[],
  { limit, signal }: LimitedOptions,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      if (signal.aborted) return;
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
