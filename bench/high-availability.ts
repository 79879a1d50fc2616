// npm run bench:high-availability -- [--devices 100] [--commands 100] [--json FILE]
// Repeats docs/high-availability.md on one Linux machine, in 127.0.0.11 to 127.0.0.13. Needs Debian's
// packages patroni, etcd-server, haproxy and postgresql-15. BENCH_LOGS=1 shows what they write.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Member } from './high-availability/cluster.js';
import { readOptions } from './load/options.js';
import type { ScenarioResult } from './soak/scenario.js';
import { type Served, servedFleet } from './soak/served-fleet.js';

const options = readOptions({
  devices: 100,
  commands: 100,
  json: '',
});

const LOOK_MS = 20;
/** Answers after the failure that show that the server is back, not that a last one was under way. */
const ANSWERS = 200;

type Failure = (cluster: Cluster, primary: Member) => unknown;

const FAILURES: Record<string, Failure> = {
  'the machine of the primary is lost': (cluster, primary) => cluster.killMachine(primary),
  'kill -9 of the primary PostgreSQL': (cluster, primary) => cluster.killPostmaster(primary),
};

/** The longest time without an answered command, from the failure until the server is back. */
async function longestPause({ answered }: Served, startedAt: number): Promise<number> {
  const goal = answered() + ANSWERS;
  let longest = 0;
  let last = answered();
  let lastAt = startedAt;
  while (answered() < goal) {
    await sleep(LOOK_MS);
    if (answered() === last) continue;
    longest = Math.max(longest, performance.now() - lastAt);
    last = answered();
    lastAt = performance.now();
  }
  return longest / 1000;
}

async function measure(name: string, fail: Failure): Promise<ScenarioResult> {
  const cluster = new Cluster();
  try {
    process.stderr.write(`${name} …\n`);
    await cluster.start();
    const result = await servedFleet({
      name,
      databaseUrl: cluster.databaseUrl,
      devices: options.devices,
      commandsPerDevice: options.commands,
      disturb: async (served) => {
        const primary = await cluster.primary();
        if (primary === undefined) throw new Error('there is no primary');
        const failedAt = performance.now();
        await fail(cluster, primary);
        return { secondsWithoutAnswers: await longestPause(served, failedAt) };
      },
    });
    return { ...result, figures: { ...result.figures, ...(await rejoin(cluster)) } };
  } finally {
    await cluster.stop();
  }
}

/** What was lost comes back as the standby. */
async function rejoin(cluster: Cluster): Promise<Record<string, number>> {
  const startedAt = performance.now();
  for (const member of cluster.lost()) cluster.startMember(member);
  await cluster.untilSynchronous();
  return { secondsUntilSynchronous: (performance.now() - startedAt) / 1000 };
}

async function main(): Promise<void> {
  const results: ScenarioResult[] = [];
  for (const [name, fail] of Object.entries(FAILURES)) results.push(await measure(name, fail));
  for (const { name, broken, figures } of results) {
    const values = Object.entries(figures).map(
      ([key, value]) => `${key} ${Number(value.toFixed(1))}`,
    );
    process.stdout.write(
      `${broken.length === 0 ? 'kept  ' : 'BROKEN'} ${name}: ${values.join(', ')}\n`,
    );
    for (const words of broken) process.stdout.write(`       ${words}\n`);
  }
  if (options.json !== '') writeFileSync(options.json, `${JSON.stringify(results)}\n`);
  if (results.some(({ broken }) => broken.length > 0)) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
