import { generateRsaKeyPair, type KeyPair } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  type AuthorityUseRow,
  listAuthorityUses,
  lockAuthority,
} from '../../db/pki/authority-repository.js';
import { CA_KEY_BITS, type StoredAuthority, storeNewAuthority } from './stored-authority.js';

export const CA_KEY_SIZES = [2048, 3072, 4096] as const;
export type CaKeySize = (typeof CA_KEY_SIZES)[number];

/** The key of a CA to be, made before the transaction: a long one takes seconds. */
export function makeAuthorityKeys(bits: CaKeySize = CA_KEY_BITS): Promise<KeyPair> {
  return generateRsaKeyPair(bits);
}

export type AuthorityKeys = KeyPair;

export interface Rotation {
  made: StoredAuthority;
  /** The one that issued until now, with what depends on it; undefined where there was none. */
  former: AuthorityUseRow | undefined;
}

/**
 * A new CA of ours issues from the commit on. The former one stays trusted for the identities that
 * it issued, and answers what is still sent to it. Rotations at once come one after the other.
 */
export async function rotateAuthority(
  trx: Transaction,
  box: SecretBox,
  { keys, now = new Date() }: { keys: KeyPair; now?: Date },
): Promise<Rotation> {
  await lockAuthority(trx);
  const uses = await listAuthorityUses(trx);
  const former = uses.find(({ issues_identities: issues }) => issues);
  return { made: await storeNewAuthority(trx, box, { keys, now }), former };
}

/** The same with the secrets at hand. */
export class AuthorityRotations {
  constructor(private readonly box: SecretBox) {}

  rotate(trx: Transaction, keys: KeyPair): Promise<Rotation> {
    return rotateAuthority(trx, this.box, { keys });
  }
}
