import { type BrakeLimits, Brakes } from '../assignments/brakes.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { ResourceStore } from '../db/store/resource-store.js';
import { auditOfCreated, writeAudit } from '../events/audit.js';
import { createJobQueue } from '../jobs/job-queue.js';
import { changeLinksLater } from '../jobs/tasks/change-links.js';
import type { ApiContext, LinkJobs } from '../jsonapi/handler.js';
import { buildApiContext } from '../jsonapi/router.js';
import { DEFINITIONS } from '../resources/index.js';
import type { createResourceServices } from './resource-services.js';

export interface ApiContextDeps {
  config: BrakeLimits;
  db: Database;
  box: SecretBox;
  services: ReturnType<typeof createResourceServices>;
}

/** The engine of /api/v1 with every resource. */
export function createApiContext({ db, box, services, config }: ApiContextDeps): ApiContext {
  const store = new ResourceStore(db, box.deriveKey('idempotency keys'));
  const audit = { audit: writeAudit, auditPart: auditOfCreated };
  const effectCheck = new Brakes(config);
  const jobs = createJobQueue();
  const linkJobs: LinkJobs = {
    add: (trx: Transaction, change) => changeLinksLater(jobs, trx, change),
  };
  const checks = { effectCheck, linkJobs };
  return buildApiContext({ definitions: DEFINITIONS, store, services, ...checks, ...audit });
}
