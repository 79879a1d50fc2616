/** What one measurement found; times in milliseconds. */
export interface Measured {
  operations: number;
  failures: number;
  perSecond: number;
  p50: number;
  p95: number;
  p99: number;
  /** CPU of the measuring process as a share of one core. */
  cpu: number;
}

/** Collects the time that each operation took, and the CPU that this process used meanwhile. */
export class Recorder {
  private readonly times: number[] = [];
  private failures = 0;
  private readonly startedAt = performance.now();
  private readonly cpuAtStart = process.cpuUsage();

  now(): number {
    return performance.now();
  }

  done(startedAt: number, isRight: boolean): void {
    this.times.push(performance.now() - startedAt);
    if (!isRight) this.failures += 1;
  }

  result(): Measured {
    const elapsed = performance.now() - this.startedAt;
    const { user, system } = process.cpuUsage(this.cpuAtStart);
    const sorted = Float64Array.from(this.times).sort();
    return {
      operations: sorted.length,
      failures: this.failures,
      perSecond: (sorted.length / elapsed) * 1000,
      p50: percentile(sorted, 0.5),
      p95: percentile(sorted, 0.95),
      p99: percentile(sorted, 0.99),
      cpu: (user + system) / 1000 / elapsed,
    };
  }
}

/** Every lane has devices of its own, so that no device is served by two at once. */
export function ofLane<T>(items: T[], lane: number, lanes: number): T[] {
  return items.filter((_, index) => index % lanes === lane);
}

/** Runs `lanes` workers side by side until each has nothing left to do. */
export async function runLanes(
  lanes: number,
  work: (lane: number, recorder: Recorder) => Promise<void>,
): Promise<Measured> {
  const recorder = new Recorder();
  await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane, recorder)));
  return recorder.result();
}

/** Quantiles in the unit of the measured times. */
export interface Quantiles {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** A time for people. */
export function ms(value: number): string {
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} ms`;
}
