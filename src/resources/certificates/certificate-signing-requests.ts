import {
  type AttributeOptions,
  each,
  integer,
  oneOf,
  text,
  textList,
  timestamp,
} from '../../jsonapi/definition/attributes.js';
import {
  type CreateOperation,
  type DeriveSource,
  defineResource,
  type UpdateOperation,
  type WriteResult,
} from '../../jsonapi/definition/definition.js';
import type { Row } from '../../jsonapi/store.js';
import type {
  SigningRequestChange,
  SigningRequestInput,
  SigningRequestService,
} from '../../pki/signing-requests/signing-request-service.js';
import { adminWrites, type Service } from '../common.js';
import { purpose } from './certificates.js';

export interface SigningRequestServices {
  signingRequests: Service<SigningRequestService>;
}

/** What to ask for on create; then what the request says. */
const requested: AttributeOptions = { write: 'create', derivedFrom: ['der'] };
/** A part of the subject, which is shown as a whole. */
const part: AttributeOptions = { write: 'create', writeOnly: true, derivedFrom: [] };
const country = { pattern: /^[A-Za-z]{2}$/, like: 'a country of 2 letters' };
const address = { pattern: /^[\x21-\x7e]+@[\x21-\x7e]+$/, like: 'an e-mail address' };

export const certificateSigningRequests = defineResource<SigningRequestServices>({
  type: 'certificate_signing_requests',
  path: '/certificate_signing_requests',
  table: 'certificate_signing_requests',
  access: adminWrites,
  attributes: {
    subject: text({ write: 'create', nullable: false, max: 2_000 }),
    purpose,
    pem_request: text({ write: 'create', derivedFrom: ['der'], max: 100_000 }),
    created_at: timestamp({ write: 'never' }),
    apple_account: text({ write: 'create', min: 1, max: 255 }),
    key_type: oneOf(['RSA', 'EC'], requested),
    key_size: integer({ ...requested, min: 1 }),
    subject_alt_names: textList({ ...requested, max: 100 }),
    ...each(text({ ...part, max: 64 }), ['x509_cn', 'x509_ou', 'x509_o']),
    ...each(text({ ...part, max: 128 }), ['x509_l', 'x509_st']),
    x509_c: text({ ...part, ...country }),
    email: text({ ...part, ...address, max: 255 }),
  },
  relationships: {
    rsa_private_key: {
      kind: 'toOne',
      type: 'rsa_private_keys',
      column: 'rsa_private_key_id',
      write: 'create',
    },
    certificates: {
      kind: 'toMany',
      type: 'certificates',
      via: { foreignKey: 'signing_request_id' },
      write: 'never',
    },
  },
  operations: { create: createSigningRequest, update: updateSigningRequest },
  derive: presentSigningRequest,
});

async function createSigningRequest(
  operation: CreateOperation<SigningRequestServices>,
): Promise<WriteResult> {
  const { trx, services, attributes, toOne } = operation;
  const given = attributes as Omit<SigningRequestInput, 'privateKeyId'>;
  const privateKeyId = toOne.rsa_private_key ?? null;
  return { id: await services.signingRequests.add(trx, { ...given, privateKeyId }) };
}

async function updateSigningRequest(
  operation: UpdateOperation<SigningRequestServices>,
): Promise<WriteResult> {
  const { trx, services, id, attributes } = operation;
  const changes = attributes as Omit<SigningRequestChange, 'id'>;
  await services.signingRequests.change(trx, { ...changes, id });
  return { id };
}

function presentSigningRequest(
  name: string,
  row: Row,
  { services: { signingRequests } }: DeriveSource<SigningRequestServices>,
): unknown {
  const der = row.der as Buffer;
  if (name === 'pem_request') return signingRequests.present(der);
  return (signingRequests.view(der) as Record<string, unknown> | undefined)?.[name] ?? null;
}
