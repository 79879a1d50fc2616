import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import { Heartbeat, type HeartbeatDeps } from '../jobs/heartbeat.js';
import { JobRunner } from '../jobs/job-runner.js';
import type { OnFinish } from '../jobs/run-task.js';
import type { Task } from '../jobs/task.js';
import { checkCredentialsAtStart } from '../jobs/tasks/check-credentials.js';
import type { Logger } from '../logger.js';
import type { FileCertificate } from '../pki/credentials/credential-status.js';
import type { PushService } from '../push/push-service.js';

export interface BackgroundWorker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface BackgroundDeps {
  config: Config;
  db: Database;
  logger: Logger;
  version: string;
  changes: ChangeFeed;
  push: PushService;
  tasks: Task[];
  /** What works beside the jobs: on smart groups, assignments, health and batches. */
  workers: readonly BackgroundWorker[];
  onFinish: OnFinish;
  onBeat: HeartbeatDeps['onBeat'];
  /** The certificate of TLS_CERT_FILE. */
  tlsFile: () => FileCertificate | undefined;
}

export interface Background {
  /** Registers this process, before it does anything else, so that the other processes see it. */
  announce(): Promise<void>;
  start(): Promise<void>;
  /** Resolves when all running work has ended, within 8 seconds. */
  stop(): Promise<void>;
}

/** The background work of this process: the change feed, heartbeats and, depending on its role, jobs and pushes. */
export function createBackground(deps: BackgroundDeps): Background {
  const { config, db, logger, version, changes, push, tasks, onFinish, onBeat, tlsFile } = deps;
  const { role } = config;
  const workers = role === 'web' ? [] : deps.workers;
  const pushFailure = () => push.failure;
  const heartbeat = new Heartbeat({ db, role, version, logger, pushFailure, onBeat });
  push.onFailureChange(() => heartbeat.hurry());
  const runner =
    role === 'web' ? undefined : new JobRunner({ db, tasks, logger, heartbeat, onFinish });
  let announced: Promise<void> | undefined;
  const announce = () => {
    announced ??= heartbeat.start();
    return announced;
  };
  return {
    announce,
    start: async () => {
      await changes.start();
      await announce();
      push.start();
      await runner?.start();
      await Promise.all(workers.map((worker) => worker.start()));
      await checkCredentialsAtStart({ db, logger, tlsFile }).catch((error: unknown) => {
        logger.warn({ err: error }, 'the credentials could not be checked');
      });
    },
    stop: async () => {
      await Promise.all([runner, push, ...workers].map((worker) => worker?.stop()));
      await heartbeat.stop();
      await changes.stop();
    },
  };
}
