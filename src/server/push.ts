import type { Config } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { ChangeFeed } from '../db/processes/change-feed.js';
import type { FailureSharing } from '../http/requests/failure-limit.js';
import { createJobQueue } from '../jobs/job-queue.js';
import { joinLab, openLab, retireLab } from '../lab-mode/lab-mode.js';
import type { StandInsDescription } from '../lab-mode/stand-ins.js';
import type { Logger } from '../logger.js';
import type { Metrics, MetricsPart } from '../metrics/metrics.js';
import { ApnsClients } from '../push/apns/apns-clients.js';
import { createPushCertificateLoader } from '../push/push-certificates.js';
import { PushService } from '../push/push-service.js';
import { readApnsCa } from './config-files.js';

interface PushDeps {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
  /** Set in a worker process. */
  member?: ClusterMember | undefined;
}

/** What a worker has of its primary, and of the other workers. */
export interface ClusterMember extends FailureSharing {
  /** Where the primary's lab is; undefined without one. */
  standIns: StandInsDescription | undefined;
  /** The metrics of all other processes. */
  otherMetrics(): Promise<MetricsPart[]>;
}

function openOrJoinLab({ member, ...deps }: PushDeps) {
  return member?.standIns === undefined ? openLab(deps) : joinLab(deps, member.standIns);
}

/** The push service with its job queue, change feed and, with LAB=on, the lab it pushes to. */
export async function openPushService(deps: PushDeps, metrics: Metrics) {
  const { config, db, box, logger } = deps;
  const lab = config.lab ? await openOrJoinLab(deps) : undefined;
  if (lab === undefined) await retireLab({ db, logger });
  const load = createPushCertificateLoader({ db, box });
  const host = lab?.apnsHost ?? config.apnsHost;
  const ca = lab?.apnsCa ?? readApnsCa(config);
  const clients = new ApnsClients({ host, logger, load, ca });
  const changes = new ChangeFeed({ db, logger });
  const jobs = createJobQueue();
  const push = new PushService({
    db,
    box,
    clients,
    jobs,
    changes,
    logger,
    dispatches: config.role !== 'web',
    onResult: metrics.countPushes,
  });
  push.onFailureChange(() => metrics.showPushService(push.failure === null));
  return { lab, changes, jobs, push };
}
