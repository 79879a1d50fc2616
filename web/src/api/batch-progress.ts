/** Commands of a batch by status. */
export type Counts = Readonly<Record<string, number>>;

export interface Progress {
  done: number;
  failed: number;
  waiting: number;
  cancelled: number;
}

const FINAL = ['Acknowledged', 'Error', 'CommandFormatError', 'Expired', 'Cancelled'];
const FAILED = ['Error', 'CommandFormatError', 'Expired'];

/** What became of the commands of a batch. */
export function progressOf(counts: Counts | null | undefined): Progress {
  return {
    done: counts?.['Acknowledged'] ?? 0,
    failed: sum(counts, (status) => FAILED.includes(status)),
    waiting: sum(counts, (status) => !FINAL.includes(status)),
    cancelled: counts?.['Cancelled'] ?? 0,
  };
}

function sum(counts: Counts | null | undefined, has: (status: string) => boolean): number {
  return Object.entries(counts ?? {}).reduce(
    (total, [status, count]) => (has(status) ? total + count : total),
    0,
  );
}
