export interface Rate {
  name: string;
  /** On one thread. */
  perSecond: number;
  /** CPU of this process as a share of one core. */
  cpu: number;
}

const BATCH = 20;
const WARM_UP_MS = 300;

function runFor(ms: number, work: (index: number) => void): { count: number; seconds: number } {
  const startedAt = performance.now();
  const end = startedAt + ms;
  let count = 0;
  while (performance.now() < end) {
    for (let turn = 0; turn < BATCH; turn += 1) work(count + turn);
    count += BATCH;
  }
  return { count, seconds: (performance.now() - startedAt) / 1000 };
}

/** How often a second one thread does the work; it gets the number of the turn. */
export function rateOf(name: string, ms: number, work: (index: number) => void): Rate {
  runFor(WARM_UP_MS, work);
  const before = process.cpuUsage();
  const { count, seconds } = runFor(ms, work);
  const { user, system } = process.cpuUsage(before);
  return { name, perSecond: count / seconds, cpu: (user + system) / 1e6 / seconds };
}
