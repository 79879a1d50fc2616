// npm run bench:push -- [--devices 50000] [--pushes 20000] [--fleet 1000] [--jobs 20000]
//   [--only whole] [--json FILE]
// BENCH_DATABASE_URL uses a PostgreSQL elsewhere (a superuser's URL).
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { readOptions } from './load/options.js';
import { measureBareClient, measureClientAlone } from './push/bare-client.js';
import { type BenchServer, openBenchServer } from './push/bench-server.js';
import { measureFleetLatency } from './push/fleet-latency.js';
import { measureJobs } from './push/job-throughput.js';
import { describe, missedTargets, type PushResults } from './push/push-report.js';
import { measureSingles } from './push/single-latency.js';
import { startStandIn } from './push/stand-in-process.js';
import { measureWhole } from './push/whole.js';
import { type Fixture, type FixtureOptions, openFixture } from './soak/fixture.js';

const options = readOptions({
  devices: 50_000,
  pushes: 20_000,
  fleet: 1000,
  jobs: 20_000,
  only: '',
  json: '',
});

const IN_FLIGHT = 1_000;
const WARM_UP = 2_000;
const SINGLES = 200;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function measureClients(results: PushResults): Promise<void> {
  const standIn = await startStandIn();
  const amount = { pushes: options.pushes, inFlight: IN_FLIGHT };
  try {
    await measureBareClient(standIn.target, { ...amount, pushes: WARM_UP });
    results.bare = await measureBareClient(standIn.target, amount);
    await measureClientAlone(standIn.target, { ...amount, pushes: WARM_UP });
    results.client = await measureClientAlone(standIn.target, amount);
  } finally {
    await standIn.stop();
  }
}

async function inFixture<T>(
  fixture: FixtureOptions,
  work: (fixture: Fixture) => Promise<T>,
): Promise<T> {
  const opened = await openFixture(fixture);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

async function measureAll(results: PushResults, server: BenchServer): Promise<void> {
  const parts: Record<string, () => Promise<void>> = {
    clients: () => measureClients(results),
    whole: async () => {
      const databaseUrl = await server.newDatabase('whole');
      const { devices } = options;
      results.whole = await inFixture({ databaseUrl, devices }, (fixture) =>
        measureWhole(fixture, server.pid),
      );
    },
    singles: async () => {
      const all = { databaseUrl: await server.newDatabase('singles'), devices: SINGLES };
      results.singles = await inFixture({ ...all, role: 'all' }, (fixture) =>
        measureSingles(fixture, SINGLES),
      );
      const across = { databaseUrl: await server.newDatabase('across'), devices: SINGLES };
      results.singlesAcross = await inFixture(across, async (fixture) => {
        await fixture.start({ role: 'worker' });
        return await measureSingles(fixture, SINGLES);
      });
    },
    fleet: async () => {
      const { directory } = server;
      const databaseUrl = await server.newDatabase('fleet');
      const devices = options.fleet;
      results.fleet = await measureFleetLatency({ databaseUrl, directory, devices });
    },
    jobs: async () => {
      const databaseUrl = await server.newDatabase('jobs');
      results.jobs = await measureJobs(databaseUrl, options.jobs);
    },
  };
  for (const [name, measure] of Object.entries(parts)) {
    if (options.only !== '' && options.only !== name) continue;
    process.stderr.write(`${name} …\n`);
    await measure();
  }
}

async function main(): Promise<void> {
  const cores = cpus();
  say(`${cores.length} x ${cores[0]?.model ?? 'unknown CPU'}, node ${process.version}`);
  const server = await openBenchServer();
  const results: PushResults = {};
  try {
    await measureAll(results, server);
  } finally {
    await server.stop();
  }
  say(describe(results));
  const missed = missedTargets(results);
  for (const words of missed) say(`MISSED: ${words}`);
  if (options.json !== '') {
    writeFileSync(options.json, `${JSON.stringify({ ...results, missed }, null, 2)}\n`);
  }
  if (missed.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
