// npm run soak -- [--devices 10000] [--jobs 10000] [--outage 60] [--inputs 100000] [--storm 2000]
//   [--dep 100000] [--held 1000] [--kills 10] [--full 30] [--seconds 10] [--fleet 500]
//   [--pgbouncer] [--only TEXT] [--json FILE]
// --pgbouncer puts Debian's PgBouncer in transaction mode between the processes and the database.
// BENCH_DATABASE_URL uses a PostgreSQL elsewhere (a superuser's URL), which is not crashed.
import { writeFileSync } from 'node:fs';
import { readOptions } from './load/options.js';
import { type BenchServer, openBenchServer } from './push/bench-server.js';
import { depSync } from './soak/dep/dep-sync.js';
import { runEmbedded } from './soak/embedded/run-embedded.js';
import { type Fixture, openFixture } from './soak/fixture.js';
import { heldConnections } from './soak/held/held-connections.js';
import { jobsKill, sharedJobs } from './soak/job-scenarios.js';
import { largeBodies } from './soak/large-bodies.js';
import { mutations } from './soak/mutations/mutations.js';
import { startPgBouncer } from './soak/pgbouncer.js';
import { databaseRestart, pushOutage, sharedWork, workerKill } from './soak/push-scenarios.js';
import type { ScenarioResult, Size } from './soak/scenario.js';
import { enrollStorm } from './soak/storm/enroll-storm.js';
import type { StormWay } from './soak/storm/storm-devices.js';
import { twoProcesses } from './soak/two-processes.js';

const options = readOptions({
  devices: 10_000,
  jobs: 10_000,
  outage: 60,
  inputs: 100_000,
  storm: 2000,
  dep: 100_000,
  kills: 10,
  full: 30,
  seconds: 10,
  held: 1000,
  fleet: 500,
  pgbouncer: false,
  only: '',
  json: '',
});

const FULL: Size = {
  jobs: options.jobs,
  outageMs: options.outage * 1000,
  answerDelayMs: 200,
  skipsWaiting: false,
  silentMs: 30_000,
  crashesDatabase: process.env.BENCH_DATABASE_URL === undefined,
};

const SCENARIOS = { sharedWork, workerKill, databaseRestart, pushOutage, sharedJobs, jobsKill };

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function describe({ name, broken, figures }: ScenarioResult): string {
  const values = Object.entries(figures).map(([key, value]) => {
    return `${key} ${Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(1)}`;
  });
  const verdict = broken.length === 0 ? 'kept  ' : 'BROKEN';
  const faults = broken.map((words) => `\n         ${words}`);
  return `${verdict} ${name}\n         ${values.join(', ')}${faults.join('')}`;
}

async function runAll(fixture: Fixture): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const [key, scenario] of Object.entries(SCENARIOS)) {
    if (!key.includes(options.only)) continue;
    process.stderr.write(`${key} …\n`);
    results.push(await scenario(fixture, FULL));
  }
  return results;
}

/** The database server of one scenario, behind PgBouncer with --pgbouncer. */
async function openSoakServer(): Promise<BenchServer> {
  const server = await openBenchServer();
  if (!options.pgbouncer) return server;
  const pooler = await startPgBouncer(server.url);
  const newDatabase = async (name: string) => pooler.urlOf(await server.newDatabase(name));
  const stop = async () => {
    await pooler.stop();
    await server.stop();
  };
  return { ...server, newDatabase, stop };
}

async function inFixture(): Promise<ScenarioResult[]> {
  const server = await openSoakServer();
  try {
    const databaseUrl = await server.newDatabase('soak');
    const fixture = await openFixture({ databaseUrl, devices: options.devices });
    try {
      return await runAll(fixture);
    } finally {
      await fixture.close();
    }
  } finally {
    await server.stop();
  }
}

const STORM = 'enroll-storm';
/** Keys to generate, which takes half a minute; further devices share them. */
const STORM_KEYS = 500;
const STORMS: readonly (readonly StormWay[])[] = [['profile'], ['profile', 'ota', 'ade']];

/** Each storm starts with an empty database. */
async function runStorms(): Promise<ScenarioResult[]> {
  const server = await openSoakServer();
  const results: ScenarioResult[] = [];
  try {
    for (const [index, ways] of STORMS.entries()) {
      process.stderr.write(`${STORM} ${ways.join(', ')} …\n`);
      const databaseUrl = await server.newDatabase(`storm${index}`);
      const devices = options.storm;
      results.push(await enrollStorm({ databaseUrl, devices, ways, keys: STORM_KEYS }));
    }
    return results;
  } finally {
    await server.stop();
  }
}

const DEP = 'dep';
const LARGE_BODIES = 'large-bodies';

async function runDep(): Promise<ScenarioResult> {
  const server = await openSoakServer();
  try {
    process.stderr.write(`${DEP} …\n`);
    const databaseUrl = await server.newDatabase(DEP);
    return await depSync({ databaseUrl, devices: options.dep });
  } finally {
    await server.stop();
  }
}

const HELD = 'heldConnections';

async function runHeld(): Promise<ScenarioResult[]> {
  const server = await openSoakServer();
  try {
    process.stderr.write(`${HELD} …\n`);
    const databaseUrl = await server.newDatabase('held');
    const connections = options.held;
    return await heldConnections({ databaseUrl, connections, seconds: options.seconds });
  } finally {
    await server.stop();
  }
}

const TWO = 'twoProcesses';
const COMMANDS_PER_DEVICE = 20;

async function runTwo(): Promise<ScenarioResult> {
  const server = await openSoakServer();
  try {
    process.stderr.write(`${TWO} …\n`);
    const databaseUrl = await server.newDatabase('two');
    const devices = options.fleet;
    return await twoProcesses({ databaseUrl, devices, commandsPerDevice: COMMANDS_PER_DEVICE });
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const results = 'mutations'.includes(options.only)
    ? await mutations(options.inputs, process.pid.toString())
    : [];
  if (Object.keys(SCENARIOS).some((key) => key.includes(options.only))) {
    results.push(...(await inFixture()));
  }
  if (STORM.includes(options.only)) results.push(...(await runStorms()));
  if (DEP.includes(options.only)) results.push(await runDep());
  if (LARGE_BODIES.includes(options.only)) {
    process.stderr.write(`${LARGE_BODIES} …\n`);
    results.push(await largeBodies({ seconds: options.seconds }));
  }
  if (TWO.includes(options.only)) results.push(await runTwo());
  if (HELD.includes(options.only)) results.push(...(await runHeld()));
  const { only, kills, full } = options;
  const embedded = { only, kills, fullMs: full * 1000 };
  results.push(...(await runEmbedded(embedded)));
  for (const result of results) say(describe(result));
  if (options.json !== '') {
    writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  if (results.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
