import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

const SEALED = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const START = 1 + NONCE_BYTES;

/** Closes and opens the bodies of answers that are kept for repetitions. */
export interface StoredResponses {
  close(body: Buffer): Buffer;
  /** null for what another key closed. */
  open(kept: Buffer): Buffer | null;
}

/**
 * An answer may show what is sealed elsewhere, an enrollment link for one. Layout: 1, 12-byte nonce,
 * AES-256-GCM ciphertext, 16-byte tag. A body of JSON, which begins with another byte, is from before
 * answers were closed. They live for a day, so no rotation of the master key takes them along: the
 * digest beside them, under the same key, makes them useless then.
 */
export function createStoredResponses(secret: Buffer): StoredResponses {
  const key = createHmac('sha256', secret).update('kept answers').digest();
  return {
    close(body) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const ciphertext = [cipher.update(body), cipher.final()];
      return Buffer.concat([Buffer.of(SEALED), nonce, ...ciphertext, cipher.getAuthTag()]);
    },
    open: (kept) => (kept[0] === SEALED ? open(kept, key) : kept),
  };
}

function open(kept: Buffer, key: Buffer): Buffer | null {
  const options = { authTagLength: TAG_BYTES };
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, kept.subarray(1, START), options);
    decipher.setAuthTag(kept.subarray(-TAG_BYTES));
    const ciphertext = kept.subarray(START, -TAG_BYTES);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    return null;
  }
}
