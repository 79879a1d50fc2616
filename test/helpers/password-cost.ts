import type { PasswordCost } from '../../src/crypto/secrets/password-hash.js';

/** Hashing a password at the product's own cost takes longer than most tests. */
export const PASSWORD_COST: PasswordCost = { ln: 4, r: 8, p: 1 };
