import type { Reconciler } from '../assignments/reconciler.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import { HealthWorker } from '../diagnosis/health-worker.js';
import type { MarkWorker } from '../groups/mark-worker.js';
import { Heartbeat, type HeartbeatDeps } from '../jobs/heartbeat.js';
import { JobRunner } from '../jobs/job-runner.js';
import type { OnFinish } from '../jobs/run-task.js';
import type { Task } from '../jobs/task.js';
import { checkCredentialsAtStart } from '../jobs/tasks/check-credentials.js';
import type { Logger } from '../logger.js';
import type { FileCertificate } from '../pki/credentials/credential-status.js';
import type { PushService } from '../push/push-service.js';

export interface BackgroundDeps {
  config: Config;
  db: Database;
  logger: Logger;
  version: string;
  changes: ChangeFeed;
  push: PushService;
  tasks: Task[];
  /** Evaluates the rules of smart groups, where jobs run. */
  groupMarks: Pick<MarkWorker, 'start' | 'stop'>;
  onFinish: OnFinish;
  onBeat: HeartbeatDeps['onBeat'];
  reconciler: Reconciler;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile: () => FileCertificate | undefined;
}

export interface Background {
  /** Lets the other processes know of this one, before it does anything. */
  announce(): Promise<void>;
  start(): Promise<void>;
  /** Resolves when nothing is under way any more, within 8 seconds. */
  stop(): Promise<void>;
}

/** What this process does by itself: hear of changes, be alive, and, by its role, jobs and pushes. */
export function createBackground(deps: BackgroundDeps): Background {
  const { config, db, logger, version, changes, push, tasks, onFinish, onBeat, tlsFile } = deps;
  const { reconciler, groupMarks } = deps;
  const { role } = config;
  const pushFailure = () => push.failure;
  const heartbeat = new Heartbeat({ db, role, version, logger, pushFailure, onBeat });
  push.onFailureChange(() => heartbeat.hurry());
  const health = new HealthWorker({ db, logger, settings: config });
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
      if (role !== 'web') {
        await Promise.all([groupMarks.start(), reconciler.start(), health.start()]);
      }
      await checkCredentialsAtStart({ db, logger, tlsFile }).catch((error: unknown) => {
        logger.warn({ err: error }, 'the credentials could not be checked');
      });
    },
    stop: async () => {
      await Promise.all([runner?.stop(), push.stop(), groupMarks.stop(), reconciler.stop()]);
      await health.stop();
      await heartbeat.stop();
      await changes.stop();
    },
  };
}
