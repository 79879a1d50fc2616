import {
  type AttributeOptions,
  integer,
  oneOf,
  text,
  textList,
  timestamp,
} from '../jsonapi/attributes.js';
import { type CreateOperation, defineResource, type WriteResult } from '../jsonapi/definition.js';
import { purpose } from './credential-purposes.js';
import { adminWrites } from './of-device.js';
import type { ResourceServices, SigningRequestInput } from './services.js';

/** A wish that only the making of the request knows. */
const input: AttributeOptions = { write: 'create', writeOnly: true, derivedFrom: [] };

export const certificateSigningRequests = defineResource<ResourceServices>({
  type: 'certificate_signing_requests',
  path: '/certificate_signing_requests',
  table: 'certificate_signing_requests',
  access: adminWrites,
  attributes: {
    subject: text({ write: 'create', nullable: false, max: 2_000 }),
    purpose,
    pem_request: text({ write: 'create', derivedFrom: ['der'], max: 100_000 }),
    created_at: timestamp({ write: 'never' }),
    key_type: oneOf(['RSA', 'EC'], input),
    key_size: integer({ ...input, min: 1 }),
    subject_alt_names: textList({ ...input, max: 100 }),
  },
  relationships: {
    rsa_private_key: {
      kind: 'toOne',
      type: 'rsa_private_keys',
      column: 'rsa_private_key_id',
      write: 'create',
    },
  },
  operations: { create: createSigningRequest },
  derive: (name, row, services) =>
    name === 'pem_request' ? services.signingRequests.present(row.der as Buffer) : null,
});

async function createSigningRequest(
  operation: CreateOperation<ResourceServices>,
): Promise<WriteResult> {
  const { trx, services, attributes, toOne } = operation;
  const given = attributes as Omit<SigningRequestInput, 'privateKeyId'>;
  const privateKeyId = toOne.rsa_private_key ?? null;
  return { id: await services.signingRequests.add(trx, { ...given, privateKeyId }) };
}
