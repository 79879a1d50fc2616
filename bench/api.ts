// npm run bench:api -- [--scale 0.1] [--keep DIR] [--only TEXT] [--seconds 1.5] [--json FILE]
// Latency: one connection, one call after the other, beside the bare SQL through the driver.
// BENCH_DATABASE_URL uses a database elsewhere; --keep fills DIR once and uses it again.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { type ApiCase, type CaseContext, type CaseResult, measureCase } from './api/api-case.js';
import { inventoryCases } from './api/inventory.js';
import { itemCases, pageCases, sortCases } from './api/reads.js';
import {
  describeCase,
  describeHead,
  describeSorts,
  describeThroughput,
  describeThroughputHead,
} from './api/report.js';
import { deepCursorPath, drawSamples, type Samples } from './api/samples.js';
import { searchCases } from './api/searches.js';
import { measureThroughput, type Throughput, throughputCases } from './api/throughput.js';
import { CLEAN_UP, createBenchTag, writeCases } from './api/writes.js';
import { type AdminDatabase, openAdminDatabase } from './data/admin-database.js';
import { ApiClient } from './load/api-client.js';
import { readOptions } from './load/options.js';
import { usageOf } from './load/process-usage.js';
import { type ServerProcess, startServerProcess } from './load/server-process.js';

const options = readOptions({
  scale: 1,
  keep: '',
  only: '',
  seconds: 1.5,
  json: '',
});

const SORT_TARGET_MS = 25;
const CALLS = 12;
const WALK_PAGE = 1000;

interface Bench {
  database: AdminDatabase;
  server: ServerProcess;
  token: string;
  context: CaseContext;
  samples: Samples;
  results: Record<string, CaseResult[]>;
  throughput: Record<string, Throughput>;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function group(bench: Bench, title: string, cases: ApiCase[]): Promise<CaseResult[]> {
  const chosen = cases.filter(({ name }) => `${title}: ${name}`.includes(options.only));
  if (chosen.length === 0) return [];
  say(describeHead(title));
  const results: CaseResult[] = [];
  for (const one of chosen) {
    const result = await measureCase(bench.context, one);
    results.push(result);
    say(describeCase(result));
  }
  bench.results[title] = results;
  return results;
}

async function measureWrites(bench: Bench): Promise<void> {
  const { context, samples, database } = bench;
  const tagId = await createBenchTag(context.api);
  try {
    await group(bench, 'writes', writeCases(samples, tagId));
  } finally {
    for (const sql of CLEAN_UP) await database.client.query(sql);
  }
}

async function measureAll(bench: Bench): Promise<void> {
  const { context, samples } = bench;
  await group(bench, 'items', itemCases(samples));
  const pages = Math.floor(bench.database.sizes.devices / 2 / WALK_PAGE);
  const path = await deepCursorPath(context.api, pages);
  await group(bench, 'pages', pageCases({ offset: pages * WALK_PAGE, path }));
  await group(bench, 'searches', searchCases(samples));
  await group(bench, 'inventory', inventoryCases(samples));
  await measureWrites(bench);
  const { seconds, calls } = context.budget;
  const brief = { ...context, budget: { seconds: seconds / 3, calls: calls / 2 } };
  const sorts = await group({ ...bench, context: brief }, 'sorts of 100 devices', sortCases());
  if (sorts.length > 0) say(describeSorts(sorts, SORT_TARGET_MS));
}

async function measureThroughputs(bench: Bench): Promise<void> {
  const { samples, server, token, database } = bench;
  const all = [16, 32].flatMap((connections) =>
    throughputCases(samples).map((one) => ({
      one,
      connections,
      name: `${one.name}, ${connections} connections`,
    })),
  );
  const chosen = all.filter(({ name }) => `throughput: ${name}`.includes(options.only));
  if (chosen.length === 0) return;
  say(`\n${describeThroughputHead()}`);
  for (const { name, one, connections } of chosen) {
    const measured = await measureThroughput(one, {
      port: server.port,
      pid: server.pid,
      databasePid: database.pid,
      token,
      connections,
      seconds: options.seconds * 3,
    });
    bench.throughput[name] = measured;
    say(describeThroughput(name, measured));
  }
  for (const sql of CLEAN_UP) await database.client.query(sql);
}

function describeMachine({ sizes, fillSeconds }: AdminDatabase): string {
  const cores = cpus();
  const counts = Object.entries(sizes).map(([name, count]) => {
    return `${Number(count).toLocaleString('en')} ${name}`;
  });
  return [
    `${cores.length} x ${cores[0]?.model ?? 'unknown CPU'}, node ${process.version}`,
    `${counts.join(', ')}; opened or filled in ${fillSeconds.toFixed(0)} s`,
  ].join('\n');
}

function report({ server, results, throughput, database }: Bench): void {
  const usage = usageOf(server.pid);
  const megabytes = (size = 0) => Math.round(size);
  say(
    `\nserver RSS ${megabytes(usage?.rssMegabytes)} MB, at most ${megabytes(usage?.peakMegabytes)} MB`,
  );
  if (options.json === '') return;
  const { sizes, fillSeconds } = database;
  const content = { sizes, fillSeconds, results, throughput, usage };
  writeFileSync(options.json, `${JSON.stringify(content, null, 2)}\n`);
}

async function runOn(database: AdminDatabase): Promise<void> {
  const token = randomBytes(24).toString('base64url');
  const { url: databaseUrl, directory: dataDir, client } = database;
  const server = await startServerProcess({
    databaseUrl,
    dataDir,
    watchLoop: true,
    // What a server writes by default, but to nowhere. Its pushes would find no Apple.
    settings: { ADMIN_TOKEN: token, LOG_LEVEL: 'info', ROLE: 'web' },
  });
  const api = new ApiClient(server.port, token);
  try {
    const budget = { seconds: options.seconds, calls: CALLS };
    const context = { api, client, budget, loopHeldMs: () => server.loopHeldMs() };
    const samples = await drawSamples(client);
    const bench: Bench = {
      database,
      server,
      token,
      context,
      samples,
      results: {},
      throughput: {},
    };
    say(describeMachine(database));
    await measureAll(bench);
    await measureThroughputs(bench);
    report(bench);
  } finally {
    api.close();
    await server.stop();
  }
}

async function main(): Promise<void> {
  const database = await openAdminDatabase({
    scale: options.scale,
    keep: options.keep || undefined,
  });
  try {
    await runOn(database);
  } finally {
    await database.stop();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
