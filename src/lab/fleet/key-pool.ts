import { generateRsaKeyPair, type KeyPair } from '../../crypto/keys/keys.js';

/** A key takes a tenth of a second, four times as long as the rest of an enrollment. */
const MOST_KEYS = 500;

/** Keys for identities: a large fleet shares them, each device with a certificate of its own. */
export class KeyPool {
  private readonly made = new Map<number, Promise<KeyPair>[]>();
  private taken = 0;

  constructor(private readonly most = MOST_KEYS) {}

  /** `bits` as the enrollment profile asks. */
  take(bits: number): Promise<KeyPair> {
    const keys = this.made.get(bits) ?? [];
    this.made.set(bits, keys);
    const index = this.taken % this.most;
    this.taken += 1;
    const keyPair = keys[index] ?? generateRsaKeyPair(bits);
    keys[index] = keyPair;
    return keyPair;
  }
}
