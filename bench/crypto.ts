// npm run bench:crypto -- [--seconds 3] [--devices 2000] [--requests 2000] [--connections 16]
// BENCH_DATABASE_URL uses a PostgreSQL elsewhere (a superuser's URL).
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { measureScep, type ScepResult } from './crypto/scep-load.js';
import { measureSignatures, type Rate } from './crypto/signatures.js';
import { makeBenchDirectory } from './load/bench-directory.js';
import { readOptions } from './load/options.js';
import { startServerProcess } from './load/server-process.js';
import { openBenchServer } from './push/bench-server.js';

const options = readOptions({
  seconds: 3,
  devices: 2000,
  requests: 2000,
  connections: 16,
});

const TARGETS = new Map([
  ['Mdm-Signature, RSA-2048, known certificate', 20_000],
  ['Mdm-Signature, RSA-2048, new certificate', 5_000],
]);
const SCEP_TARGET = 100;
const HELD_TARGET_MS = 5;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function describeRate({ name, perSecond, cpu }: Rate): string {
  const target = TARGETS.get(name);
  const asked = target === undefined ? '' : `  (asked: ${number(target)})`;
  const share = Math.round(cpu * 100);
  return `${name.padEnd(46)}${number(perSecond).padStart(9)}/s  ${share} % of a core${asked}`;
}

function describeScep({ perSecond, perCpuSecond, p50, p99, heldMs, failures }: ScepResult): string {
  return [
    `SCEP enrollments${number(perSecond).padStart(39)}/s  p50 ${p50.toFixed(1)} ms, p99 ` +
      `${p99.toFixed(1)} ms, ${failures} failures`,
    `  for each CPU second of the server${number(perCpuSecond).padStart(22)}/s  ` +
      `(asked: ${SCEP_TARGET} for each core)`,
    `  longest hold of the event loop${heldMs.toFixed(1).padStart(25)} ms`,
  ].join('\n');
}

async function scep(): Promise<ScepResult> {
  const bench = await openBenchServer();
  const dataDir = makeBenchDirectory();
  const masterKey = randomBytes(32);
  try {
    const databaseUrl = await bench.newDatabase('crypto');
    const settings = { MASTER_KEY: masterKey.toString('base64') };
    const server = await startServerProcess({ databaseUrl, dataDir, settings, watchLoop: true });
    try {
      const [requests, connections] = [options.requests, options.connections];
      await measureScep({ server, masterKey, requests: Math.ceil(requests / 4), connections });
      return await measureScep({ server, masterKey, requests, connections });
    } finally {
      await server.stop();
    }
  } finally {
    await bench.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  say(`${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}, node ${process.version}`);
  const rates = await measureSignatures(options.seconds * 1000, options.devices);
  for (const rate of rates) say(describeRate(rate));
  const enrollments = await scep();
  say(describeScep(enrollments));
  const missed = rates.filter(({ name, perSecond }) => perSecond < (TARGETS.get(name) ?? 0));
  if (enrollments.failures > 0) throw new Error('not every request was answered by 200');
  for (const { name } of missed) say(`missed: ${name}`);
  if (enrollments.perCpuSecond < SCEP_TARGET) say('missed: SCEP enrollments');
  if (enrollments.heldMs > HELD_TARGET_MS) say('above 5 ms: what holds the loop');
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
