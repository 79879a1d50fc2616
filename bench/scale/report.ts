import { ms } from '../load/measure.js';
import type { Swept } from './sweeps.js';
import { isNotFlat, isSlowTotal, type Walked } from './walk.js';

const NAME_WIDTH = 84;

export interface Single {
  name: string;
  status: number;
  p95: number;
}

export function describeHead(title: string): string {
  const columns = ['p95'.padStart(9), 'read'.padStart(10), 'returned'.padStart(9)];
  return `\n${title.padEnd(NAME_WIDTH)} ${columns.join(' ')} ${'counted'.padStart(9)} ${'pages'.padStart(9)}`;
}

export function describeWalked(one: Walked): string {
  const figures = [one.rowsRead, one.rowsReturned, one.rowsCounted, one.blocks];
  const [read, ...others] = figures.map((figure) => figure.toLocaleString('en').padStart(9));
  const marks = [
    one.status === 200 ? '' : ` HTTP ${one.status}`,
    one.scanned.length > 0 ? ` scans ${[...new Set(one.scanned)].join(',')}` : '',
    isNotFlat(one) ? ' NOT FLAT' : '',
    isSlowTotal(one) && one.pageP95 !== undefined ? ` by its total: page ${ms(one.pageP95)}` : '',
  ];
  const name = one.query.slice(0, NAME_WIDTH).padEnd(NAME_WIDTH);
  return `${name} ${ms(one.p95).padStart(9)} ${read?.padStart(10)} ${others.join(' ')}${marks.join('')}`;
}

export function describeSwept({ name, ms: time, rowsRead, scanned }: Swept): string {
  const scans = scanned.length > 0 ? ` scans ${[...new Set(scanned)].join(',')}` : '';
  const read = rowsRead.toLocaleString('en').padStart(10);
  return `${name.padEnd(NAME_WIDTH)} ${ms(time).padStart(9)} ${read}${scans}`;
}

export function describeSingle({ name, status, p95 }: Single): string {
  return `${name.padEnd(NAME_WIDTH)} ${ms(p95).padStart(9)}${status === 200 ? '' : ` HTTP ${status}`}`;
}

/** The line for other programs. */
export function summaryOf(devices: number, walked: Walked[]): string {
  const [worst] = [...walked].sort((one, other) => other.p95 - one.p95);
  const round = (time: number) => Math.round(time * 10) / 10;
  return JSON.stringify({
    devices,
    worst: worst === undefined ? null : { query: worst.query, p95_ms: round(worst.p95) },
    not_flat: walked.filter(isNotFlat).map(({ query }) => query),
    /** Those of them that are flat without their total. */
    slow_totals: walked.filter(isSlowTotal).map(({ query }) => query),
  });
}
