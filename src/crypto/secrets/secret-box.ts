import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../errors.js';

const MAGIC = Buffer.from('MSB1', 'latin1');
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const OVERHEAD = MAGIC.length + NONCE_BYTES + TAG_BYTES;
const SEALING_PURPOSE = 'secret-box';
const DIGEST_PURPOSE = 'secret-digest';

/**
 * Seals secrets with AES-256-GCM under a key derived from the master key. Layout: `MSB1`, 12-byte
 * nonce, ciphertext, 16-byte tag. The seal label names the record and field (for instance
 * `devices/12/unlock_token`); it is the associated data, so that sealed bytes copied to another
 * record do not open.
 */
export class SecretBox {
  readonly #masterKey: Buffer;
  readonly #sealingKey: Buffer;
  readonly #digestKey: Buffer;

  /** @param masterKey 32 random bytes; any other length throws `master_key_mismatch`. */
  constructor(masterKey: Buffer) {
    if (masterKey.length !== KEY_BYTES) {
      throw new AppError('master_key_mismatch', 500, 'the master key must be 32 bytes');
    }
    this.#masterKey = Buffer.from(masterKey);
    this.#sealingKey = this.deriveKey(SEALING_PURPOSE);
    this.#digestKey = this.deriveKey(DIGEST_PURPOSE);
  }

  /** Whether the bytes have the layout of a sealed secret; says nothing about the key. */
  static isSealed(bytes: Buffer): boolean {
    return bytes.length >= OVERHEAD && bytes.subarray(0, MAGIC.length).equals(MAGIC);
  }

  seal(plain: Buffer, sealLabel: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealingKey, nonce);
    cipher.setAAD(Buffer.from(sealLabel, 'utf8'));
    const ciphertext = [cipher.update(plain), cipher.final()];
    return Buffer.concat([MAGIC, nonce, ...ciphertext, cipher.getAuthTag()]);
  }

  /** @throws AppError `master_key_mismatch` for another key, another label or altered bytes. */
  open(sealed: Buffer, sealLabel: string): Buffer {
    if (!SecretBox.isSealed(sealed)) throw mismatch();
    const start = MAGIC.length + NONCE_BYTES;
    const end = sealed.length - TAG_BYTES;
    const nonce = sealed.subarray(MAGIC.length, start);
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv('aes-256-gcm', this.#sealingKey, nonce, options);
    decipher.setAAD(Buffer.from(sealLabel, 'utf8'));
    decipher.setAuthTag(sealed.subarray(end));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(start, end)), decipher.final()]);
    } catch (cause) {
      throw mismatch(cause);
    }
  }

  /**
   * HMAC-SHA256 to compare secrets of the same label without opening them. Without the key it
   * reveals nothing, and digests under different labels are unrelated.
   */
  digest(plain: Buffer, sealLabel: string): Buffer {
    const key = createHmac('sha256', this.#digestKey).update(sealLabel, 'utf8').digest();
    return createHmac('sha256', key).update(plain).digest();
  }

  /** A 32-byte key for one purpose (HKDF-SHA256, RFC 5869), independent of those for others. */
  deriveKey(purpose: string): Buffer {
    const info = Buffer.from(`muster/${purpose}`, 'utf8');
    return Buffer.from(hkdfSync('sha256', this.#masterKey, Buffer.alloc(0), info, KEY_BYTES));
  }
}

function mismatch(cause?: unknown): AppError {
  return new AppError('master_key_mismatch', 500, 'a stored secret does not open', { cause });
}
