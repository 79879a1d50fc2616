import { generateRsaKeyPair, type KeyPair } from '../../crypto/keys/keys.js';

/** Generating a key takes 0.1 s, four times as long as the rest of an enrollment. */
const MAX_KEYS = 500;

/** Keys for identities: a large fleet shares them; each device has a certificate of its own. */
export class KeyPool {
  private readonly made = new Map<number, Promise<KeyPair>[]>();
  private served = 0;

  constructor(private readonly most = MAX_KEYS) {}

  /** Key size in bits, as the enrollment profile asks. */
  get(bits: number): Promise<KeyPair> {
    const keys = this.made.get(bits) ?? [];
    this.made.set(bits, keys);
    const index = this.served % this.most;
    this.served += 1;
    const keyPair = keys[index] ?? generateRsaKeyPair(bits);
    keys[index] = keyPair;
    return keyPair;
  }
}
