import { type Response, Router } from 'express';
import { readOrganization } from '../db/admin/settings-repository.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { isSelfSigned, tlsTrust } from '../pki/tls/tls-trust.js';
import { buildTrustProfile } from '../protocol/profiles/trust-profile.js';
import { methodNotAllowed } from './method-not-allowed.js';
import type { EnrollServices } from './services.js';

/** Certificates are no secret, so this is open whoever may enroll. */
export function createTrustRoutes(services: EnrollServices): Router {
  const router = Router();
  const path = '/trust.mobileconfig';
  router.get(path, (_req, res) => sendTrustProfile(res, services));
  router.all(path, methodNotAllowed('GET, HEAD'));
  return router;
}

/** Unsigned: whoever needs it believes no signature of this server yet. */
async function sendTrustProfile(res: Response, services: EnrollServices): Promise<void> {
  const { db, caCertificates, tlsChain, publicUrl } = services;
  const [organization, trusted] = await Promise.all([
    readOrganization(db.knex),
    tlsTrust(db, tlsChain()),
  ]).catch((error: unknown) => {
    throw toAppError(error);
  });
  const profile = buildTrustProfile({
    ...{ organization, caCertificates: caCertificates(), uuidSeed: `trust ${publicUrl}` },
    tlsCertificates: trusted.map((one) => ({ der: one.der, isRoot: isSelfSigned(one) })),
  });
  res.setHeader('Content-Type', 'application/x-apple-aspen-config');
  res.setHeader('Content-Disposition', 'attachment; filename="trust.mobileconfig"');
  res.setHeader('Cache-Control', 'no-store');
  res.end(profile);
}
