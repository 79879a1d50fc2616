import { z } from 'zod';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { writeAudit } from '../../events/audit.js';
import type { RequestContext } from '../../jsonapi/context.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import {
  type AuthorityKeys,
  type AuthorityRotations,
  CA_KEY_SIZES,
  makeAuthorityKeys,
  type Rotation,
} from '../../pki/authority/stored-authority.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface AuthorityRotationDeps {
  api: ApiContext;
  authorityRotations: AuthorityRotations;
  /** After the commit, so that this process issues by the new CA at once. */
  onAuthoritiesChange: () => Promise<void>;
}

const ROTATION = { action: 'ca_certificates.rotate', targetType: 'certificates' };

/** Makes a new CA of this server the signing one and audits that, in the caller's transaction. */
export async function rotateAudited(
  trx: Transaction,
  rotations: AuthorityRotations,
  { keys, context }: { keys: AuthorityKeys; context: RequestContext },
): Promise<Rotation> {
  const rotation = await rotations.rotate(trx, keys);
  const event = { context, ...ROTATION, targetId: rotation.made.id, outcome: 'success' as const };
  await writeAudit(trx, { ...event, details: detailsOf(rotation) });
  return rotation;
}

function detailsOf({ made, former }: Rotation) {
  const { subject, fingerprint } = made.certificate;
  return { subject, fingerprint: fingerprint.toString('hex'), former: former?.id ?? null };
}

/** Creates a new CA that issues the identities of devices from then on. */
export function authorityRotationRoutes(deps: AuthorityRotationDeps): ApiRoute[] {
  const { api, authorityRotations, onAuthoritiesChange } = deps;
  const rotate = action(api, {
    method: 'POST',
    path: '/ca_certificates/rotate',
    operationId: 'rotateCaCertificate',
    tag: 'certificates',
    role: 'admin',
    summary: 'Let a new CA issue the identities of devices',
    description:
      'Makes a CA with a new key, which issues from now on, in every process within seconds. The ' +
      'former one stays trusted: devices notice nothing until their identities are renewed. Without ' +
      'a body, its key is RSA of 2048 bits.',
    body: {
      attributes: z.strictObject({ key_size: z.literal(CA_KEY_SIZES).default(2048) }),
      example: { key_size: 3072 },
    },
    answer: {
      status: 201,
      description: 'The certificate of the new CA.',
      shows: 'certificates',
    },
    errors: [400, 413, 415, 422],
    audit: { ...ROTATION, refusals: [] },
    prepare: ({ body }) => makeAuthorityKeys(body.key_size),
    run: async (trx, { prepared: keys }) => {
      const rotation = await authorityRotations.rotate(trx, keys);
      const { id } = rotation.made;
      return {
        targetId: id,
        ids: id,
        details: detailsOf(rotation),
        location: `${api.basePath}/certificates/${id}`,
        afterCommit: onAuthoritiesChange,
      };
    },
  });
  return [rotate];
}
