// npm run bench:web -- --devices 100000 [--keep DIR] [--runs 7] [--consoles 20] [--json]
// Fills a database with the fleet of bench:scale, and measures the console in Debian's chromium (CHROMIUM
// names another): from sign-in to the list, blank rows while scrolling, filters; and polls of devices
// beside consoles that ask what a browser asks. DATABASE_URL, or BENCH_DATABASE_URL, uses an empty database
// elsewhere; --keep fills DIR once and uses it again.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { ApiClient } from './load/api-client.js';
import { readOptions } from './load/options.js';
import { startServerProcess } from './load/server-process.js';
import { type FilledDatabase, fillDatabase, overDatabase } from './scale/filled-database.js';
import { type Console, launchBrowser } from './web/browser.js';
import { measureFilters } from './web/filters.js';
import { measureFirstList } from './web/first-list.js';
import { measurePolls } from './web/polls.js';
import { type RepeatedRequest, recordRequests } from './web/recorded-requests.js';
import {
  describeFilters,
  describeFirst,
  describePolls,
  describeScrolls,
  type Found,
  goalsOf,
  jsonOf,
} from './web/report.js';
import { measureScrolling } from './web/scrolling.js';

const options = readOptions({
  devices: 20_000,
  keep: '',
  runs: 7,
  consoles: 20,
  rows: 3000,
  seconds: 5,
  json: false,
});

const POLL_ROUNDS = 3;
/** The pages that are open all day. */
const PAGES = ['/devices', '/'];

function say(line: string): void {
  // The last line on stdout is for other programs, so the table goes beside it.
  (options.json ? process.stderr : process.stdout).write(`${line}\n`);
}

interface Served {
  url: string;
  port: number;
  token: string;
  databaseUrl: string;
}

/** What the browser measures, then without it: on two cores it would take those of the server. */
async function measure(
  served: Served,
  { client, filled }: { client: pg.Client; filled: FilledDatabase },
): Promise<Found> {
  const { devices, seed } = filled;
  if (seed === undefined)
    throw new Error('the database was filled elsewhere: its keys are missing');
  const { pages, ...seen } = await inBrowser(served);
  const polls = await measurePolls(
    { client, seed, server: served },
    { pages, rounds: POLL_ROUNDS, seconds: options.seconds },
  );
  say(describePolls(polls));
  return { devices, ...seen, polls };
}

async function inBrowser(served: Served) {
  const runs = options.runs;
  const browser = await launchBrowser();
  const api = new ApiClient(served.port, served.token);
  try {
    const console: Console = { ...served, browser };
    const first = await measureFirstList(console, runs);
    say(describeFirst(first));
    const scrolls = await measureScrolling(console, options.rows);
    say(describeScrolls(scrolls));
    const filtered = await measureFilters(console, api, runs);
    say(describeFilters(filtered));
    const recorded: RepeatedRequest[][] = [];
    for (const path of PAGES) recorded.push(await recordRequests(console, path));
    for (const { path, everyMs, isConditional } of recorded.flat()) {
      const kind = isConditional ? 'conditional' : 'whole';
      say(`a console asks every ${(everyMs / 1000).toFixed(1)} s, ${kind}: ${path}`);
    }
    const count = options.consoles;
    const pages = Array.from({ length: count }, (_, n) => recorded[n % recorded.length] ?? []);
    return { first, scrolls, filtered, pages };
  } finally {
    api.close();
    await browser.close();
  }
}

async function runOn(databaseUrl: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const fill = { client, devices: options.devices, directory: dataDir, say };
    const filled = await fillDatabase(databaseUrl, fill);
    const token = randomBytes(24).toString('base64url');
    const settings = { ADMIN_TOKEN: token, ROLE: 'web' };
    const server = await startServerProcess({ databaseUrl, dataDir, settings });
    const { port } = server;
    try {
      const served = { url: `http://localhost:${port}`, port, token, databaseUrl };
      const found = await measure(served, { client, filled });
      for (const [goal, isMet] of Object.entries(goalsOf(found))) {
        say(`${isMet ? 'met' : 'MISSED'}: ${goal}`);
      }
      if (options.json) process.stdout.write(`${jsonOf(found)}\n`);
    } finally {
      await server.stop();
    }
  } finally {
    await client.end();
  }
}

overDatabase(options.keep || undefined, runOn).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
