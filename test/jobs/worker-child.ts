// A process that runs jobs: node --require ./scripts/typescript.cjs worker-child.ts DATABASE_URL SILENT_MS
import { connectDatabase } from '../../src/db/connection/database.js';
import { Heartbeat } from '../../src/jobs/heartbeat.js';
import { JobRunner } from '../../src/jobs/job-runner.js';
import type { Task } from '../../src/jobs/task.js';
import { createLogger } from '../../src/logger.js';

const [connectionString = '', silentMs = '30000'] = process.argv.slice(2);
const db = connectDatabase({ connectionString, applicationName: 'worker-child' });
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Never ends. */
const hang: Task = {
  name: 'test.hang',
  parse: (payload) => payload,
  run: (_payload, { jobId }) => {
    say(`hanging ${jobId}`);
    return new Promise(() => {});
  },
};

/** Takes a moment, and inserts a row in `runs`. */
const count: Task = {
  name: 'test.count',
  parse: (payload) => payload,
  run: async (_payload, { jobId }) => {
    await db.knex('runs').insert({ job_id: jobId, pid: process.pid });
  },
};

async function main(): Promise<void> {
  const logger = createLogger('silent');
  const silent = Number(silentMs);
  const beats = { intervalMs: silent / 5, silentMs: silent };
  const heartbeat = new Heartbeat({ db, role: 'worker', version: '0', logger, ...beats });
  const times = { pollMs: 100, graceMs: 300, abortMs: 300, reopenMs: 20 };
  const runner = new JobRunner({ db, tasks: [hang, count], logger, heartbeat, times });
  await heartbeat.start();
  await runner.start();
  say('ready');
  process.on('SIGTERM', () => {
    void runner
      .stop()
      .then(() => heartbeat.stop())
      .then(() => db.close())
      .then(() => say('stopped'));
  });
}

void main();
