import { rmSync } from 'node:fs';
import pg from 'pg';
import { makeBenchDirectory } from '../../load/bench-directory.js';
import { usageOf } from '../../load/process-usage.js';
import { type ServerProcess, startServerProcess } from '../../load/server-process.js';
import type { ScenarioResult } from '../scenario.js';
import { watchHealth } from './health-watch.js';
import { type StormOutcome, type StormWay, startStormDevices } from './storm-devices.js';
import { brokenRows } from './storm-rows.js';

export interface StormOptions {
  /** An empty database, migrated or not. */
  databaseUrl: string;
  devices: number;
  ways: readonly StormWay[];
  keys: number;
}

/** The health check should answer within this time. */
const HEALTH_MS = 2_000;
const MAX_EXAMPLES = 3;

/** A school's first day: all devices enroll at the same time, and none is lost or duplicated. */
export async function enrollStorm(options: StormOptions): Promise<ScenarioResult> {
  const directory = makeBenchDirectory('muster-storm-');
  try {
    const server = await startServer(options.databaseUrl, directory);
    try {
      return await judge(options, server);
    } finally {
      await server.stop();
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function startServer(databaseUrl: string, dataDir: string): Promise<ServerProcess> {
  return startServerProcess({
    databaseUrl,
    dataDir,
    settings: { LAB: 'on', LOG_LEVEL: process.env.SOAK_LOG_LEVEL ?? 'fatal' },
  });
}

async function judge(options: StormOptions, server: ServerProcess): Promise<ScenarioResult> {
  const { result, health, serverCpuSeconds } = await storm(options, server);
  const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 1 });
  const overTheAir = countOf(options, 'ota');
  const automated = countOf(options, 'ade');
  const rows = await brokenRows(pool, { devices: options.devices, overTheAir, automated });
  await pool.end();
  const isSlow = health.slowestMs > HEALTH_MS;
  return {
    name: `${options.devices} devices enroll at once (${options.ways.join(', ')})`,
    broken: [
      ...summarize(result.failures, 'devices did not enroll'),
      ...summarize(health.failures, 'health checks failed'),
      ...(isSlow ? [`a health check took ${Math.round(health.slowestMs)} ms`] : []),
      ...rows,
    ],
    figures: {
      ...figuresOf(result),
      healthChecks: health.checks,
      slowestHealthMs: health.slowestMs,
      serverCpuSeconds,
    },
  };
}

async function storm(options: StormOptions, server: ServerProcess) {
  const devices = await startStormDevices();
  const url = `http://localhost:${server.port}`;
  try {
    await devices.call('prepare', { url, ...options });
    const before = usageOf(server.pid)?.cpuSeconds ?? 0;
    const ran = await watchHealth(url, () => devices.call('enroll', undefined));
    const serverCpuSeconds = (usageOf(server.pid)?.cpuSeconds ?? 0) - before;
    return { ...ran, serverCpuSeconds };
  } finally {
    await devices.kill('SIGTERM');
  }
}

function countOf({ devices, ways }: StormOptions, way: StormWay): number {
  return Array.from({ length: devices }, (_, index) => ways[index % ways.length]).filter(
    (name) => name === way,
  ).length;
}

function figuresOf({ seconds, wallSeconds, retries }: StormOutcome) {
  return {
    perSecond: seconds.length / wallSeconds,
    slowestSeconds: Math.max(0, ...seconds),
    retries,
  };
}

function summarize(failures: readonly string[], what: string): string[] {
  if (failures.length === 0) return [];
  const examples = [...new Set(failures)].slice(0, MAX_EXAMPLES).join('; ');
  return [`${failures.length} ${what}: ${examples}`];
}
