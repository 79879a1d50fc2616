import type {
  CreateOperation,
  DeleteOperation,
  DeriveSource,
  UpdateOperation,
  WriteResult,
} from '../../jsonapi/definition/definition.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import type { Row } from '../../jsonapi/store.js';
import type {
  CertificateChange,
  CertificateInput,
  CertificateService,
} from '../../pki/certificates/certificate-service.js';
import type { Service } from '../common.js';

export interface CertificateServices {
  certificates: Service<CertificateService>;
}

export async function createCertificate(
  operation: CreateOperation<CertificateServices>,
): Promise<WriteResult> {
  const { trx, services, attributes, toOne, flags } = operation;
  const input = attributes as Omit<CertificateInput, 'privateKeyId'>;
  const id = await services.certificates.add(trx, {
    ...input,
    privateKeyId: toOne.rsa_private_key ?? null,
    signingRequestId: toOne.certificate_signing_request ?? null,
    isForced: flags.has('force'),
  });
  return withWarnings(trx, services, id);
}

async function withWarnings(
  trx: CreateOperation<CertificateServices>['trx'],
  { certificates }: CertificateServices,
  id: number,
): Promise<WriteResult> {
  const warnings = await certificates.warnings(trx, id);
  return warnings.length > 0 ? { id, meta: { warnings } } : { id };
}

export async function updateCertificate(
  operation: UpdateOperation<CertificateServices>,
): Promise<WriteResult> {
  const { trx, services, id, attributes, toOne, flags } = operation;
  await services.certificates.change(trx, {
    ...(attributes as Omit<CertificateChange, 'id' | 'privateKeyId'>),
    id,
    isForced: flags.has('force'),
    privateKeyId: toOne.rsa_private_key,
  });
  return withWarnings(trx, services, id);
}

export async function removeCertificate(
  operation: DeleteOperation<CertificateServices>,
): Promise<void> {
  const { trx, services, id } = operation;
  await services.certificates.remove(trx, id);
}

/** Attributes that have no column. */
export function presentCertificate(
  name: string,
  row: Row,
  { services: { certificates } }: DeriveSource<CertificateServices>,
): unknown {
  if (name === 'chain') return presentChain(certificates.viewChain(row.chain_der as Buffer | null));
  const der = row.der as Buffer;
  if (name === 'pem_certificate') return certificates.present(der);
  return (certificates.view(der) as Record<string, unknown> | undefined)?.[name] ?? null;
}

function presentChain(chain: { not_after: Date }[]): unknown[] {
  return chain.map((link) => ({ ...link, not_after: formatTimestamp(link.not_after) }));
}
