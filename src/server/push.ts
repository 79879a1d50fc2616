import type { Config } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { ChangeFeed } from '../db/processes/change-feed.js';
import { createJobQueue } from '../jobs/job-queue.js';
import { openLab, retireLab } from '../lab-mode/lab-mode.js';
import type { Logger } from '../logger.js';
import type { Metrics } from '../metrics/metrics.js';
import { ApnsClients } from '../push/apns/apns-clients.js';
import { createPushCertificateLoader } from '../push/push-certificates.js';
import { PushService } from '../push/push-service.js';
import { readApnsCa } from './config-files.js';

interface PushDeps {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

/** The push service with its job queue, change feed and, with LAB=on, the lab it pushes to. */
export async function openPushService(deps: PushDeps, metrics: Metrics) {
  const { config, db, box, logger } = deps;
  const lab = config.lab ? await openLab({ config, db, box, logger }) : undefined;
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
