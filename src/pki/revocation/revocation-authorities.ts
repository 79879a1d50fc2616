import type { KeyObject } from 'node:crypto';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';

/** A CA of ours, as far as it says what it has revoked. */
export interface RevocationAuthority {
  certificate: ParsedCertificate;
  privateKey: KeyObject;
  /** By what it is known in the addresses of its list and its certificate. */
  keyId: string;
}

export interface RevocationAuthorities {
  /** The CAs made here; with those that were themselves revoked. */
  all(options: { revoked: boolean }): readonly RevocationAuthority[];
}

/** The CA of ours with this key identifier, also one that was revoked. */
export function findAuthority(
  authorities: RevocationAuthorities,
  keyId: string,
): RevocationAuthority | undefined {
  return authorities.all({ revoked: true }).find((authority) => authority.keyId === keyId);
}
