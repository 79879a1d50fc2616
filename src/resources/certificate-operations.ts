import type {
  CreateOperation,
  DeleteOperation,
  UpdateOperation,
  WriteResult,
} from '../jsonapi/definition.js';
import type { Row } from '../jsonapi/store.js';
import type { CertificateChange, CertificateInput, ResourceServices } from './services.js';

type Services = ResourceServices;

export async function createCertificate(
  operation: CreateOperation<Services>,
): Promise<WriteResult> {
  const { trx, services, attributes, toOne } = operation;
  const input = attributes as Omit<CertificateInput, 'privateKeyId'>;
  const privateKeyId = toOne.rsa_private_key ?? null;
  return { id: await services.certificates.add(trx, { ...input, privateKeyId }) };
}

export async function updateCertificate(
  operation: UpdateOperation<Services>,
): Promise<WriteResult> {
  const { trx, services, id, attributes, toOne } = operation;
  await services.certificates.change(trx, {
    ...(attributes as Omit<CertificateChange, 'id' | 'privateKeyId'>),
    id,
    ...(toOne.rsa_private_key !== undefined && { privateKeyId: toOne.rsa_private_key }),
  });
  return { id };
}

export async function removeCertificate(operation: DeleteOperation<Services>): Promise<void> {
  const { trx, services, id } = operation;
  await services.certificates.remove(trx, id);
}

/** The one derived attribute that is shown: the certificate itself. */
export function presentCertificate(name: string, row: Row, services: Services): unknown {
  return name === 'pem_certificate' ? services.certificates.present(row.der as Buffer) : null;
}
