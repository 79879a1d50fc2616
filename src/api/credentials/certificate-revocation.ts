import { z } from 'zod';
import type { ApiContext } from '../../jsonapi/handler.js';
import type { TlsUse } from '../../pki/certificates/certificate-checks.js';
import {
  REVOCATION_REASONS,
  type Revoked,
  revoke,
} from '../../pki/revocation/revoke-certificate.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface CertificateRevocationDeps {
  api: ApiContext;
  /** Called once a change to the CAs is committed. */
  onAuthoritiesChange: () => Promise<void>;
  tlsUse?: TlsUse;
}

const reason = z
  .enum(REVOCATION_REASONS)
  .default('unspecified')
  .describe('By the names of RFC 5280 5.3.1.');

/** Revokes a certificate, which can't be undone. */
export function certificateRevocationRoutes(deps: CertificateRevocationDeps): ApiRoute[] {
  const { api, onAuthoritiesChange, tlsUse } = deps;
  const revocation = action(api, {
    method: 'POST',
    path: '/certificates/{id}/revoke',
    operationId: 'revokeCertificate',
    tag: 'certificates',
    role: 'admin',
    summary: 'Revoke a certificate',
    description:
      'For good. A device whose certificate is revoked is refused from its next contact on, until ' +
      'it enrolls again; its further certificates, as one that was to renew it, are revoked too: ' +
      '`meta` and the audit event name them and the device. The revocation list and OCSP show ' +
      'it at once. One revoked before stays as it is. 409 `in_use` for the CA that issues ' +
      'identities now (`muster ca rotate` first), and without `force=true` for a CA that enrolled ' +
      'devices depend on, for the only push certificate of a topic with enrolled devices, and for ' +
      'the last ssl certificate that HTTPS is served with.',
    flags: { force: { description: 'Revoke it although devices depend on it.' } },
    body: {
      attributes: z.strictObject({ reason }),
      type: 'certificates',
      example: { reason: 'keyCompromise' },
    },
    answer: { status: 200, description: 'The certificate.', shows: 'certificates' },
    audit: { action: 'certificates.revoke', targetType: 'certificates', refusals: [] },
    run: async (trx, { id, body, flags: { force: isForced } }) => {
      const servesStored = tlsUse?.servesStored;
      const revoked = await revoke(trx, { id, reason: body.reason, isForced, servesStored });
      return {
        details: revoked.isNew
          ? { reason: body.reason, force: isForced, ...lockedOut(revoked) }
          : { already_revoked: true },
        meta: lockedOut(revoked),
        afterCommit: revoked.isNew && revoked.isAuthority ? onAuthoritiesChange : undefined,
      };
    },
  });
  return [revocation];
}

/** Nothing shows at the device, which stays enrolled as far as it knows. */
function lockedOut({ device }: Revoked): Record<string, unknown> {
  return device === undefined ? {} : { device: device.id, further_certificates: device.further };
}
