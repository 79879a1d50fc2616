import { ms, quantilesOf } from '../load/measure.js';
import type { Filtered } from './filters.js';
import type { FirstList } from './first-list.js';
import type { Polls } from './polls.js';
import type { Scrolled, Scrolls } from './scrolling.js';

/** The goals of bench:web. */
export const GOALS = { interactiveMs: 1_000, filterMs: 100, pollShare: 0.8 } as const;
/** A p99 is the same if it is not above the worst without consoles by more than this. */
const NOISE = 1.25;

export interface Found {
  devices: number;
  first: FirstList[];
  scrolls: Scrolls;
  filtered: Filtered[];
  polls: Polls;
}

interface Spread {
  median: number;
  p95: number;
}

function spreadOf(values: readonly number[]): Spread {
  const { p50, p95 } = quantilesOf(values);
  return { median: p50, p95 };
}

function described({ median, p95 }: Spread): string {
  return `median ${ms(median)}, p95 ${ms(p95)}`;
}

export function describeFirst(first: FirstList[]): string {
  const rows = spreadOf(first.map((one) => one.rows));
  const interactive = spreadOf(first.map((one) => one.interactive));
  return `sign-in to list (${first.length} runs): rows ${described(rows)}; a key moves the selection ${described(interactive)}`;
}

export function describeScrolls({ wheel, jumps }: Scrolls): string {
  return `${describeScrolled('wheel', wheel)}\n${describeScrolled('jumps', jumps)}`;
}

function describeScrolled(name: string, one: Scrolled): string {
  const blank =
    one.blankFrames === 0
      ? 'none with a blank row'
      : `${one.blankFrames} with a blank row, at most ${ms(one.longestBlankMs)}`;
  return (
    `scrolling, ${name}: ${one.frames} frames in ${one.seconds.toFixed(1)} s to row ${one.row}, ${blank}; ` +
    `frame p95 ${ms(one.frameP95Ms)}, longest ${ms(one.longestFrameMs)}; ` +
    `${ms(one.waitingMs)} at the end of the loaded rows, at most ${ms(one.longestWaitMs)}`
  );
}

const NAME_WIDTH = 36;

export function describeFilters(filtered: Filtered[]): string {
  const head = ['devices', 'median', 'p95', 'before', 'server', 'render'];
  const rows = summaryOfFilters(filtered).map(({ name, total, all, before, server, render }) => {
    const times = [all.median, all.p95, before, server, render];
    return [name, total.toLocaleString('en'), ...times.map(ms)];
  });
  return [['filter', ...head], ...rows]
    .map(([name = '', ...cells]) => {
      return name.padEnd(NAME_WIDTH) + cells.map((cell) => cell.padStart(10)).join('');
    })
    .join('\n');
}

function summaryOfFilters(filtered: Filtered[]) {
  const names = [...new Set(filtered.map(({ name }) => name))];
  return names.map((name) => {
    const own = filtered.filter((one) => one.name === name);
    const median = (of: (one: Filtered) => number) => quantilesOf(own.map(of)).p50;
    return {
      name,
      total: own[0]?.total ?? 0,
      all: spreadOf(own.map(totalOf)),
      before: median((one) => one.before),
      server: median((one) => one.server),
      render: median((one) => one.render),
    };
  });
}

function totalOf({ before, server, render }: Filtered): number {
  return before + server + render;
}

export function describePolls({ perSecond, rate, p99, failures, consoles }: Polls): string {
  const list = (times: number[]) => times.map(ms).join(', ');
  return (
    `polls: ${Math.round(perSecond.alone)}/s alone, ${Math.round(perSecond.beside)}/s beside the consoles; ` +
    `at ${rate}/s p99 alone ${list(p99.alone)}, beside ${list(p99.beside)}; ${failures} failed\n` +
    `consoles: ${consoles.perSecond.toFixed(1)} requests/s, ${Math.round(consoles.notModified * 100)} % not modified, ` +
    `p95 ${ms(consoles.p95)}, ${consoles.failures} failed`
  );
}

/** Each goal, and whether it is met. */
export function goalsOf({ first, scrolls, filtered, polls }: Found): Record<string, boolean> {
  const { wheel, jumps } = scrolls;
  const { perSecond, p99 } = polls;
  const slowest = Math.max(...summaryOfFilters(filtered).map(({ all }) => all.median));
  return {
    [`list interactive <= ${GOALS.interactiveMs} ms (p95)`]:
      quantilesOf(first.map(({ interactive }) => interactive)).p95 <= GOALS.interactiveMs,
    'no blank rows': wheel.blankFrames + jumps.blankFrames === 0,
    [`each filter <= ${GOALS.filterMs} ms (median)`]: slowest <= GOALS.filterMs,
    [`polls beside consoles >= ${GOALS.pollShare}`]:
      perSecond.beside >= GOALS.pollShare * perSecond.alone,
    'p99 of polls unchanged':
      quantilesOf(p99.beside).p50 <= NOISE * Math.max(...p99.alone, quantilesOf(p99.alone).p50),
  };
}

/** The line for other programs. */
export function jsonOf(found: Found): string {
  const { devices, first, scrolls, filtered, polls } = found;
  return JSON.stringify({
    devices,
    rows_ms: spreadOf(first.map(({ rows }) => rows)),
    interactive_ms: spreadOf(first.map(({ interactive }) => interactive)),
    scrolling: scrolls,
    filters: summaryOfFilters(filtered),
    polls,
    goals: goalsOf(found),
  });
}
