import { setFlagsFromString } from 'node:v8';

/** V8 lets a heap of 100 MB grow to three times its size; of what a poll leaves, all is garbage soon. */
const GROWTH_PERCENT = 60;

/** Collects garbage when the heap has grown by this share, in all threads of this process. */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
