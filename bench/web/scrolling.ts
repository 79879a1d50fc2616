import type { Page } from 'playwright-core';
import { quantilesOf } from '../load/measure.js';
import { type Console, openPage, signedIn } from './browser.js';

interface Frame {
  at: number;
  /** Index of the first row that is visible. */
  top: number;
  /** Visible rows without text. */
  blank: number;
  /** Whether the rows that are loaded end here, while the server has more. */
  isWaiting: boolean;
}

export interface Scrolled {
  frames: number;
  seconds: number;
  /** The furthest row that was reached. */
  row: number;
  blankFrames: number;
  longestBlankMs: number;
  /** Time at the end of the loaded rows. */
  waitingMs: number;
  longestWaitMs: number;
  frameP95Ms: number;
  longestFrameMs: number;
}

export interface Scrolls {
  wheel: Scrolled;
  jumps: Scrolled;
}

const LIMIT_MS = 60_000;
const JUMPS_MS = 4_000;
/** Pixels of one turn of the wheel. */
const TURN = 1_200;

/** Turns the wheel for `rows` rows, then jumps to random places in them. */
export async function measureScrolling(console: Console, rows: number): Promise<Scrolls> {
  const page = await openPage(console, '/devices', await signedIn(console));
  try {
    await page.evaluate('bench.rows()');
    await page.getByRole('grid').hover();
    const wheel = await scroll(page, 'bench.startScrolling()', () => turnWheel(page, rows));
    const jumps = await scroll(page, 'bench.startJumping()', () => page.waitForTimeout(JUMPS_MS));
    return { wheel, jumps };
  } finally {
    await page.context().close();
  }
}

async function turnWheel(page: Page, rows: number): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (performance.now() < end && (await page.evaluate<number>('bench.top()')) < rows) {
    await page.mouse.wheel(0, TURN);
  }
}

async function scroll(page: Page, start: string, work: () => Promise<void>): Promise<Scrolled> {
  await page.evaluate(start);
  await work();
  return summaryOf(await page.evaluate<Frame[]>('bench.stopScrolling()'));
}

export function summaryOf(frames: readonly Frame[]): Scrolled {
  const times = frames.slice(1).map(({ at }, index) => at - (frames[index]?.at ?? at));
  const blank = spells(frames, (frame) => frame.blank > 0);
  const waiting = spells(frames, ({ isWaiting }) => isWaiting);
  const { p95, max } = quantilesOf(times);
  return {
    frames: frames.length,
    seconds: ((frames.at(-1)?.at ?? 0) - (frames[0]?.at ?? 0)) / 1000,
    row: Math.max(0, ...frames.map(({ top }) => top)),
    blankFrames: frames.filter((frame) => frame.blank > 0).length,
    longestBlankMs: Math.max(0, ...blank),
    waitingMs: waiting.reduce((sum, time) => sum + time, 0),
    longestWaitMs: Math.max(0, ...waiting),
    frameP95Ms: p95,
    longestFrameMs: max,
  };
}

/** How long each run of frames lasts for which it holds, until the next frame for which it does not. */
function spells(frames: readonly Frame[], holds: (frame: Frame) => boolean): number[] {
  const found: number[] = [];
  let since: number | undefined;
  for (const frame of frames) {
    if (holds(frame)) since ??= frame.at;
    else if (since !== undefined) {
      found.push(frame.at - since);
      since = undefined;
    }
  }
  const last = frames.at(-1);
  if (since !== undefined && last !== undefined) found.push(last.at - since);
  return found;
}
