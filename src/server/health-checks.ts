import type { Database } from '../db/connection/database.js';
import { WriteProbe } from '../db/connection/health.js';
import { migrationStatus } from '../db/schema/migrate.js';
import { AppError } from '../errors.js';
import { createHealthRouter } from '../http/pages/health.js';
import type { Logger } from '../logger.js';
import type { CertificateAuthorities } from '../pki/authority/authorities.js';
import { requireStarted } from '../pki/authority/authority.js';

interface HealthDeps {
  db: Database;
  logger: Logger;
  authorities: CertificateAuthorities;
}

async function checkMigrations(db: Database): Promise<void> {
  const { pending } = await migrationStatus(db);
  if (pending.length > 0) throw new Error(`migrations pending: ${pending.join(', ')}`);
}

function checkAuthority({ certificate }: CertificateAuthorities['current']): void {
  requireStarted(certificate);
  if (certificate.notAfter > new Date()) return;
  const message = 'The certificate authority has expired: run `muster ca rotate`';
  throw new AppError('unavailable', 503, message);
}

/** Routes and checks of GET /healthz and /readyz. */
export function healthRouter({ db, logger, authorities }: HealthDeps) {
  const writes = new WriteProbe(db);
  const checks = {
    // Uses the background pool: a full device pool means load, not a failure.
    database: async () => db.background.query('select 1'),
    writes: () => writes.check(),
    migrations: () => checkMigrations(db),
    certificate_authority: async () => checkAuthority(authorities.current),
  };
  return createHealthRouter({ checks, logger });
}
