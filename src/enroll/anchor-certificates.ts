import type { RequestHandler } from 'express';
import { toAppError } from '../db/connection/sqlstate.js';
import { tlsTrust } from '../pki/tls/tls-trust.js';
import type { EnrollServices } from './services.js';

type AnchorServices = Pick<EnrollServices, 'db' | 'caCertificates' | 'tlsChain' | 'publicUrl'>;

/**
 * DER of what devices are to trust this server by. A device that is given anchors believes in nothing
 * else for this server, so there are none where its TLS certificate is publicly trusted, or a
 * proxy's that nobody has stored the anchor of.
 */
export async function anchorCertificates(services: AnchorServices): Promise<Buffer[]> {
  const { db, caCertificates, tlsChain, publicUrl } = services;
  const trusted = await tlsTrust(db, tlsChain());
  if (trusted.length === 0 && publicUrl.startsWith('https:')) return [];
  return [...caCertificates(), ...trusted.map(({ der }) => der)];
}

/** A JSON array of base64 of each. */
export function sendAnchorCertificates(services: AnchorServices): RequestHandler {
  return async (_req, res) => {
    const anchors = await anchorCertificates(services).catch((error: unknown) => {
      throw toAppError(error);
    });
    res.json(anchors.map((der) => der.toString('base64')));
  };
}
