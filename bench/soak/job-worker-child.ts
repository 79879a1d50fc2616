// A process that runs the counting jobs; job-workers.ts starts it with a URL and two times in ms.
import { connectDatabase } from '../../src/db/connection/database.js';
import { Heartbeat } from '../../src/jobs/heartbeat.js';
import { JobRunner } from '../../src/jobs/job-runner.js';
import { createLogger } from '../../src/logger.js';
import { answerCalls } from '../push/child-calls.js';
import { createCountingTask, type JobWorkerCalls } from './job-workers.js';

async function main(): Promise<void> {
  const [connectionString = '', silentMs, taskMs] = process.argv.slice(2);
  const logger = createLogger('fatal');
  const db = connectDatabase({ connectionString, logger });
  const heartbeat = new Heartbeat({
    db,
    logger,
    role: 'worker',
    version: 'soak',
    silentMs: Number(silentMs),
    intervalMs: Number(silentMs) / 6,
  });
  const tasks = [createCountingTask(db, Number(taskMs))];
  const runner = new JobRunner({ db, tasks, logger, heartbeat });
  await heartbeat.start();
  await runner.start();
  answerCalls({
    stop: async () => {
      await runner.stop();
      await heartbeat.stop();
      await db.close();
    },
  } satisfies JobWorkerCalls);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
