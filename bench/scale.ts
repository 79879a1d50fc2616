// npm run bench:scale -- --devices 20000 [--keep DIR] [--only TEXT] [--calls 10] [--json] [--plans]
// Fills a database with a fleet by COPY, serves other devices beside it, walks every list, sort and filter
// that the API offers, and what runs by the clock, and prints what each costs and how many rows its plan
// reads. DATABASE_URL, or BENCH_DATABASE_URL, uses an empty database elsewhere; --keep fills DIR once and
// uses it again; --only walks what has TEXT in its name, and nothing else. To look at a kept fleet in the
// console: `DATA_DIR=DIR/database MASTER_KEY=$(cat DIR/master.key) npm start`; the token is in DIR/database/admin-token.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { connectDatabase } from '../src/db/connection/database.js';
import { ApiClient } from './load/api-client.js';
import { ms } from './load/measure.js';
import { readOptions } from './load/options.js';
import { type ServerProcess, startServerProcess } from './load/server-process.js';
import { measureDevicePath } from './scale/device-path.js';
import { fillDatabase, overDatabase } from './scale/filled-database.js';
import { listCases, nameOf, RESOURCES } from './scale/list-cases.js';
import { LIST_SESSION } from './scale/plans.js';
import {
  describeHead,
  describeSingle,
  describeSwept,
  describeWalked,
  summaryOf,
} from './scale/report.js';
import { sampleOf } from './scale/sample.js';
import { runSweep, SWEEPS } from './scale/sweeps.js';
import { isNotFlat, isSlowTotal, timed, type Walked, walk } from './scale/walk.js';

const options = readOptions({
  devices: 20_000,
  keep: '',
  only: '',
  calls: 10,
  json: false,
  plans: false,
});

const MOST_DEVICES = 10_000_000;
if (!Number.isInteger(options.devices) || options.devices > MOST_DEVICES) {
  process.stderr.write(`--devices takes a whole number up to ${MOST_DEVICES}\n`);
  process.exit(2);
}

/** A slow list is not asked for ten times. */
const BUDGET_MS = 300;

function say(line: string): void {
  // The last line on stdout is for other programs, so the table goes beside it.
  (options.json ? process.stderr : process.stdout).write(`${line}\n`);
}

interface Bench {
  api: ApiClient;
  client: pg.Client;
  url: string;
}

async function walkAll({ api, client }: Bench): Promise<Walked[]> {
  const walked: Walked[] = [];
  for (const definition of RESOURCES) {
    const cases = listCases(definition, await sampleOf(client, definition));
    const chosen = cases.filter((one) => nameOf(one).includes(options.only));
    if (chosen.length > 0) say(describeHead(definition.type));
    for (const one of chosen) {
      const budget = { calls: options.calls, budgetMs: BUDGET_MS };
      const result = await walk({ api, client }, one, budget);
      walked.push(result);
      say(describeWalked(result));
      if (!options.plans || !isNotFlat(result)) continue;
      for (const { text, rowsRead } of result.plans) say(`    ${rowsRead} rows: ${text}`);
    }
  }
  return walked;
}

const SINGLES = ['/credentials', '/health_summary', '/jobs?filter[status]=dead'];

async function others({ api, client, url }: Bench, server: ServerProcess): Promise<void> {
  say(describeHead('other reads'));
  const first = performance.now();
  const { status } = await fetch(`http://127.0.0.1:${server.port}/metrics`);
  say(describeSingle({ name: 'first /metrics', status, p95: performance.now() - first }));
  for (const path of SINGLES) {
    say(describeSingle({ name: path, ...(await timed(api, path, { calls: 5, budgetMs: 1000 })) }));
  }
  say(describeHead('by the clock'));
  const db = connectDatabase({ connectionString: url, applicationName: 'bench' });
  try {
    for (const name of Object.keys(SWEEPS)) {
      if (name.includes(options.only)) say(describeSwept(await runSweep(db, client, name)));
    }
  } finally {
    await db.close();
  }
}

async function serveDevices(fleet: Parameters<typeof measureDevicePath>[0]): Promise<void> {
  say('\ndevices beside the fleet');
  for (const [name, { perSecond, p50, p99 }] of Object.entries(await measureDevicePath(fleet))) {
    say(`${name}: ${Math.round(perSecond).toLocaleString('en')}/s, p50 ${ms(p50)}, p99 ${ms(p99)}`);
  }
}

async function runOn(url: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const fill = { client, devices: options.devices, directory: dataDir, say };
    const { devices, seed } = await fillDatabase(url, fill);
    if (devices !== options.devices) say(`the database has ${devices} devices`);
    await client.query(LIST_SESSION);
    const token = randomBytes(24).toString('base64url');
    const settings = { ADMIN_TOKEN: token, ROLE: 'web' };
    const server = await startServerProcess({ databaseUrl: url, dataDir, settings });
    const api = new ApiClient(server.port, token);
    try {
      const bench = { api, client, url };
      if (options.only === '') {
        if (seed === undefined) say('no other devices are served: the keys of the fleet are gone');
        else await serveDevices({ client, seed, port: server.port, databaseUrl: url });
        await others(bench, server);
      }
      const walked = await walkAll(bench);
      if (walked.length === 0) {
        process.stderr.write(`no list has "${options.only}" in its name\n`);
        process.exitCode = 2;
      } else if (options.json) process.stdout.write(`${summaryOf(devices, walked)}\n`);
      else {
        const [notFlat, totals] = [isNotFlat, isSlowTotal].map((is) => walked.filter(is).length);
        say(
          `\n${notFlat} of ${walked.length} queries are not flat, ${totals} of them by their total`,
        );
      }
    } finally {
      api.close();
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
