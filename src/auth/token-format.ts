import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'mst_';
const TOKEN_BYTES = 32;

/** A new token: the prefix lets secret scanners find it, 256 random bits make it unguessable. */
export function newToken(): string {
  return PREFIX + randomBytes(TOKEN_BYTES).toString('base64url');
}

/** What is stored and looked up. A fast hash is enough for 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
