import type { Transaction } from '../../db/connection/unit-of-work.js';
import { isLastTlsCertificate } from '../../db/pki/tls-certificate-repository.js';
import { AppError } from '../../errors.js';

/** What the ssl certificates stored here are to this process. */
export interface TlsUse {
  /** HTTPS is served with one of them. */
  servesStored: boolean;
  /** The host that new ones must be for; undefined: any will do. */
  host?: string | undefined;
}

/**
 * AppError 409 in_use, ending with the remedy, for the certificate that HTTPS is served with while
 * no other one could take its place.
 */
export async function requireNotServed(
  trx: Transaction,
  id: number,
  remedy: string,
): Promise<void> {
  if (!(await isLastTlsCertificate(trx, id))) return;
  const message =
    'HTTPS is served with this certificate, and there is no other one to serve it with';
  throw new AppError('in_use', 409, `${message}: add its successor first; ${remedy}`);
}
