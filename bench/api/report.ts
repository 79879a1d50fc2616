import type { CaseResult } from './api-case.js';
import type { Throughput } from './throughput.js';

const WIDTHS = [46, 9, 9, 9, 9, 9, 9, 10, 9];
const HEADS = ['p50 ms', 'p95 ms', 'p99 ms', 'SQL p50', 'SQL p95', 'target', 'loop ms', 'KB'];

export function describeHead(title: string): string {
  return `\n${columns([title, ...HEADS])}`;
}

/** True where p95 is above what it should be. */
export function isOver({ targetMs, measured }: CaseResult): boolean {
  return targetMs !== undefined && measured !== undefined && measured.p95 > targetMs;
}

export function describeCase(result: CaseResult): string {
  const { name, refused, measured, floor, targetMs, loopHeldMs, bytes = 0 } = result;
  if (refused !== undefined || measured === undefined)
    return `${name.padEnd(46)}  refused (${refused})`;
  const { p50, p95, p99, failures } = measured;
  const cells = [p50, p95, p99, floor?.p50, floor?.p95].map(ms);
  const target = targetMs === undefined ? '-' : String(targetMs);
  const row = [name, ...cells, target, ms(loopHeldMs), (bytes / 1024).toFixed(1)];
  const remarks = [isOver(result) ? '  OVER' : '', failures > 0 ? `  ${failures} FAILED` : ''];
  return columns(row) + remarks.join('');
}

/** One line for all the sorts: how many stay below a page's target, and which do not. */
export function describeSorts(results: CaseResult[], targetMs: number): string {
  const slow = results.filter(({ measured }) => (measured?.p95 ?? 0) > targetMs);
  const indexed = results.filter((result) => result.targetMs !== undefined);
  const worst = Math.max(...results.map(({ measured }) => measured?.p95 ?? 0));
  return [
    `  ${results.length} sorts: ${results.length - slow.length} within ${targetMs} ms,`,
    `slowest ${ms(worst)} ms; indexed ones over target: ${indexed.filter(isOver).length}`,
  ].join(' ');
}

export function describeThroughputHead(): string {
  const heads = ['per s', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms', 'PG ms', 'client'];
  return columns(['throughput', ...heads]);
}

export function describeThroughput(name: string, measured: Throughput): string {
  const { perSecond, p50, p95, p99, cpu, failures } = measured;
  const { cpuMsPerRequest, databaseMsPerRequest } = measured;
  const rate = Math.round(perSecond).toLocaleString('en');
  const times = [p50, p95, p99, cpuMsPerRequest, databaseMsPerRequest].map(ms);
  const row = columns([name, rate, ...times, `${Math.round(cpu * 100)} %`]);
  return row + (failures > 0 ? `  ${failures} FAILED` : '');
}

function columns(cells: string[]): string {
  return cells
    .map((cell, i) => (i === 0 ? cell.padEnd(WIDTHS[0] ?? 0) : cell.padStart(WIDTHS[i] ?? 0)))
    .join('');
}

function ms(value: number | undefined): string {
  if (value === undefined) return '-';
  return value < 100 ? value.toFixed(2) : value.toFixed(0);
}
