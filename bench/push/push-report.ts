import type { Quantiles } from '../load/measure.js';
import type { PushRate } from './bare-client.js';
import type { FleetLatency } from './fleet-latency.js';
import type { JobThroughput } from './job-throughput.js';
import type { SingleLatency } from './single-latency.js';
import type { WholeResult } from './whole.js';

export interface PushResults {
  bare?: PushRate;
  client?: PushRate;
  whole?: WholeResult;
  singles?: SingleLatency;
  singlesAcross?: SingleLatency;
  fleet?: FleetLatency;
  jobs?: JobThroughput;
}

/** Pushes per second of one process, and milliseconds until half of a fleet has answered. */
export const TARGETS = { perSecond: 10_000, medianMs: 1_000 };

const WIDTHS = [46, 12, 10, 10, 10, 10];

/** All that was measured, as a table. */
export function describe(results: PushResults): string {
  const { bare, client, singles, singlesAcross, fleet, jobs } = results;
  const times = ['p50 ms', 'p99 ms', 'max ms'];
  const pushes = [
    ...rateLine('node:http2 alone, one connection', bare),
    ...rateLine('our client alone', client),
    ...wholeLines(results.whole),
  ];
  const latency = [
    ...singleLines('ROLE=all', singles),
    ...singleLines('web + worker', singlesAcross),
    ...fleetLines(fleet),
  ];
  return [
    ...section(['pushes', 'per s', ...times, 'CPU µs'], pushes),
    ...section(['latency', 'count', ...times], latency),
    ...section(['jobs', 'per s', ...times], jobLines(jobs)),
  ].join('\n');
}

/** Descriptions of guarantees that do not hold. */
export function missedTargets({ bare, client, whole: all, fleet, jobs }: PushResults): string[] {
  const { perSecond, medianMs } = TARGETS;
  const rates = [bare?.failures, client?.failures, all?.failures, fleet?.failures, jobs?.failures];
  const failures = rates.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const faults: [boolean, string][] = [
    [failures > 0, `${failures} failures`],
    [(all?.perSecond ?? perSecond) < perSecond, `fewer than ${whole(perSecond)} pushes/s`],
    [(all?.surplus ?? 0) > 0, `${all?.surplus} devices were pushed twice`],
    [(fleet?.fromAnswer.p50 ?? 0) >= medianMs, `the median answer takes ${medianMs} ms or more`],
  ];
  return faults.filter(([isSo]) => isSo).map(([, words]) => words);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function times({ p50, p99, max }: Quantiles): string[] {
  return [p50, p99, max].map((ms) => ms.toFixed(ms < 100 ? 1 : 0));
}

function rateLine(name: string, rate: PushRate | undefined): string[] {
  if (rate === undefined) return [];
  return [columns([name, whole(rate.perSecond), ...times(rate.times), rate.cpu.toFixed(0)])];
}

function columns(cells: string[]): string {
  return cells
    .map((cell, i) => (i === 0 ? cell.padEnd(WIDTHS[0] ?? 0) : cell.padStart(WIDTHS[i] ?? 0)))
    .join('');
}

function wholeLines(result: WholeResult | undefined): string[] {
  if (result === undefined) return [];
  const { devices, perSecond, surplus, cpu, rssMegabytes, loopHeldMs, binds } = result;
  const shares = [
    `server ${percent(cpu.server)}`,
    `stand-in ${percent(cpu.standIn)}`,
    `PostgreSQL ${percent(cpu.database)}`,
    `machine ${percent(cpu.machine)}`,
  ];
  return [
    columns([`one process, ${whole(devices)} due devices`, whole(perSecond)]),
    `  CPU of a core: ${shares.join(', ')}; RSS at most ${whole(rssMegabytes)} MB`,
    `  CPU of a push, µs: ${costs(result)}`,
    `  event loop held ${loopHeldMs.toFixed(0)} ms at most; ${surplus} pushes too many`,
    `  first push ${result.firstAfterMs.toFixed(0)} ms after the commit, ` +
      `outcomes stored ${result.outcomesAfterMs.toFixed(0)} ms after the last`,
    `  what binds: ${binds}`,
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** What one push costs, which other work on the machine changes less than the rate. */
function costs({ perSecond, cpu }: WholeResult): string {
  const microseconds = (share: number) => Math.round((share / perSecond) * 1e6);
  const { server, standIn, database } = cpu;
  return `server ${microseconds(server)}, stand-in ${microseconds(standIn)}, PostgreSQL ${microseconds(database)}`;
}

function singleLines(roles: string, result: SingleLatency | undefined): string[] {
  if (result === undefined) return [];
  return [
    latencyLine(`one command, ${roles}: call to 201`, result.answered),
    latencyLine(`one command, ${roles}: call to push`, result.pushed),
  ];
}

function latencyLine(name: string, quantiles: Quantiles): string {
  return columns([name, whole(quantiles.count), ...times(quantiles)]);
}

function fleetLines(result: FleetLatency | undefined): string[] {
  if (result === undefined) return [];
  return [
    latencyLine('devices at once: 201 to answer', result.fromAnswer),
    latencyLine('devices at once: queued to answer', result.fromCommit),
    `  the API took ${whole(result.enqueueMs)} ms to queue them`,
  ];
}

function section(head: string[], lines: string[]): string[] {
  return lines.length === 0 ? [] : [columns(head), ...lines, ''];
}

function jobLines(result: JobThroughput | undefined): string[] {
  if (result === undefined) return [];
  return [
    columns(['jobs added, one by one', whole(result.addedSingly)]),
    columns(['jobs added, 1,000 at a time', whole(result.addedTogether)]),
    columns(['jobs run by one process', whole(result.runPerSecond)]),
    latencyLine('one job: add to run', result.latency),
  ];
}
