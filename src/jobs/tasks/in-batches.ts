/** Small enough that a batch holds its locks for milliseconds only. */
export const BATCH = 1_000;

/** Repeats what changes at most BATCH rows until fewer were left. Returns how many there were. */
export async function inBatches(
  signal: AbortSignal,
  work: (limit: number) => Promise<number>,
): Promise<number> {
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const count = await work(BATCH);
    total += count;
    if (count < BATCH) return total;
  }
}
