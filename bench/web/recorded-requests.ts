import { setTimeout as sleep } from 'node:timers/promises';
import type { Request } from 'playwright-core';
import { quantilesOf } from '../load/measure.js';
import { type Console, openPage, signedIn } from './browser.js';

/** A request that a page of the console repeats for as long as it is open. */
export interface RepeatedRequest {
  /** With the query. */
  path: string;
  /** As the browser sends them, without the cookie and what makes the request conditional. */
  headers: Record<string, string>;
  isConditional: boolean;
  everyMs: number;
}

interface Sent {
  at: number;
  request: Request;
}

const RECORDING_MS = 22_000;
const SEEN_AT_LEAST = 3;
const PER_CONSOLE = new Set(['cookie', 'if-none-match', 'host', 'connection']);

/** What the page at this path goes on asking, from a browser that has it open. */
export async function recordRequests(console: Console, path: string): Promise<RepeatedRequest[]> {
  const page = await openPage(console, path, await signedIn(console));
  const sent = new Map<string, Sent[]>();
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (request.method() !== 'GET' || !pathname.startsWith('/api/')) return;
    const found = sent.get(pathname + search) ?? [];
    sent.set(pathname + search, [...found, { at: performance.now(), request }]);
  });
  try {
    await sleep(RECORDING_MS);
    const repeated = [...sent].filter(([, times]) => times.length >= SEEN_AT_LEAST);
    if (repeated.length === 0) throw new Error(`${path} repeats no request`);
    return await Promise.all(repeated.map(([name, times]) => repeatedRequest(name, times)));
  } finally {
    await page.context().close();
  }
}

async function repeatedRequest(path: string, sent: Sent[]): Promise<RepeatedRequest> {
  const last = sent.at(-1);
  if (last === undefined) throw new Error(`${path} was not sent`);
  const all = await last.request.allHeaders();
  const kept = Object.entries(all).filter(
    ([name]) => !name.startsWith(':') && !PER_CONSOLE.has(name),
  );
  const pauses = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? at));
  return {
    path,
    headers: Object.fromEntries(kept),
    isConditional: 'if-none-match' in all,
    everyMs: quantilesOf(pauses).p50,
  };
}
