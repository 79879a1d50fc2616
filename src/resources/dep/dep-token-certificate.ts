import { validationError } from '../../errors.js';
import type { Operation } from '../../jsonapi/definition/definition.js';
import { certificates } from '../certificates/certificates.js';
import { rsaPrivateKeys } from '../certificates/rsa-private-keys.js';
import type { ResourceServices } from '../services.js';

const PURPOSE = 'dep.stoken';

/** AppError 422 unless the certificate is one by which Apple knows this server, with its RSA key. */
export async function requireTokenCertificate(
  { trx, store }: Operation<ResourceServices>,
  id: number | null | undefined,
): Promise<void> {
  if (typeof id !== 'number') return;
  const keyOf = (key: number) =>
    store.find(trx, { shape: rsaPrivateKeys, id: key, columns: ['key_type'] });
  const columns = ['purpose', 'rsa_private_key_id'];
  const certificate = await store.find(trx, { shape: certificates, id, columns });
  if (certificate?.purpose !== PURPOSE) throw fault(`is no certificate of purpose ${PURPOSE}`);
  const keyId = certificate.rsa_private_key_id;
  const key = typeof keyId === 'number' ? await keyOf(keyId) : undefined;
  if (key?.key_type !== 'RSA') throw fault('has no private RSA key here');
}

function fault(detail: string) {
  const source = { pointer: '/data/relationships/token_certificate/data' };
  return validationError([{ detail: `the certificate ${detail}`, source }]);
}
