import { setTimeout as sleep } from 'node:timers/promises';

/** Which part of its time a backup of a serving process works: the rest is for devices, whose database it reads. */
const SHARE = 1 / 3;
const BURST_MS = 10;

/** The same bytes at a pace that leaves room. What makes them waits as well: it is never far ahead. */
export async function* paced(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let startedAt = performance.now();
  for await (const chunk of bytes) {
    yield chunk;
    const worked = performance.now() - startedAt;
    if (worked < BURST_MS) continue;
    await sleep(worked * (1 / SHARE - 1));
    startedAt = performance.now();
  }
}
