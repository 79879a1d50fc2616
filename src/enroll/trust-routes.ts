import { type RequestHandler, type Response, Router } from 'express';
import { readOrganization } from '../db/admin/settings-repository.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { isSelfSigned, tlsTrust } from '../pki/tls/tls-trust.js';
import { buildTrustProfile } from '../protocol/profiles/trust-profile.js';
import { methodNotAllowed } from './method-not-allowed.js';
import type { EnrollServices } from './services.js';

/** The trust profile. Certificates are public, so anyone may fetch it. */
export function createTrustRoutes(services: EnrollServices): Router {
  const router = Router();
  const path = '/trust.mobileconfig';
  router.get(path, (_req, res) => sendTrustProfile(res, services));
  router.all(path, methodNotAllowed('GET, HEAD'));
  return router;
}

type AnchorServices = Pick<EnrollServices, 'db' | 'caCertificates' | 'tlsChain' | 'publicUrl'>;

/**
 * DER of the certificates by which devices trust this server. A device with anchors trusts only them
 * for this server, so the list is empty if the TLS certificate is publicly trusted, or belongs to a
 * proxy whose anchor is not stored.
 */
export async function anchorCertificates(services: AnchorServices): Promise<Buffer[]> {
  const { db, caCertificates, tlsChain, publicUrl } = services;
  const trusted = await tlsTrust(db, tlsChain());
  if (trusted.length === 0 && publicUrl.startsWith('https:')) return [];
  return [...caCertificates(), ...trusted.map(({ der }) => der)];
}

/** Sends a JSON array of the anchors in base64. */
export function sendAnchorCertificates(services: AnchorServices): RequestHandler {
  return async (_req, res) => {
    const anchors = await anchorCertificates(services).catch((error: unknown) => {
      throw toAppError(error);
    });
    res.json(anchors.map((der) => der.toString('base64')));
  };
}

/** Unsigned: a device that needs it does not trust this server's signature yet. */
async function sendTrustProfile(res: Response, services: EnrollServices): Promise<void> {
  const { db, caCertificates, tlsChain, publicUrl } = services;
  const [organization, trusted] = await Promise.all([
    readOrganization(db.knex),
    tlsTrust(db, tlsChain()),
  ]).catch((error: unknown) => {
    throw toAppError(error);
  });
  const profile = buildTrustProfile({
    organization,
    caCertificates: caCertificates(),
    uuidSeed: `trust ${publicUrl}`,
    tlsCertificates: trusted.map((one) => ({ der: one.der, isRoot: isSelfSigned(one) })),
  });
  res.setHeader('Content-Type', 'application/x-apple-aspen-config');
  res.setHeader('Content-Disposition', 'attachment; filename="trust.mobileconfig"');
  res.setHeader('Cache-Control', 'no-store');
  res.end(profile);
}
