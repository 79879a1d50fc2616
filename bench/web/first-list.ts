import type { Page } from 'playwright-core';
import { type Console, openPage, signIn } from './browser.js';

export interface FirstList {
  /** From the click on Sign in until the first rows are painted. */
  rows: number;
  /** The same until a key has moved the current row. */
  interactive: number;
}

/** Signs browsers in that have nothing stored, one after the other; the first warms the server up. */
export async function measureFirstList(console: Console, runs: number): Promise<FirstList[]> {
  const found: FirstList[] = [];
  for (let run = 0; run <= runs; run += 1) {
    const page = await openPage(console, '/devices');
    try {
      found.push(await measureOnce(page, console.token));
    } finally {
      await page.context().close();
    }
  }
  return found.slice(1);
}

async function measureOnce(page: Page, token: string): Promise<FirstList> {
  await page.getByLabel('API token').waitFor();
  const measuring = page.evaluate<{ at: number; rows: number }>('bench.signIn()');
  await signIn(page, token);
  const { at, rows } = await measuring;
  const moving = page.evaluate<number>('bench.moved()');
  await page.keyboard.press('ArrowDown');
  return { rows: rows - at, interactive: (await moving) - at };
}
