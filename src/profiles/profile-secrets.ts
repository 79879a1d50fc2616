import type { SecretBox } from '../crypto/secrets/secret-box.js';

/** Seals the values of `profile_secrets`, each for its id. */
export class ProfileSecrets {
  readonly #box: SecretBox;

  constructor(box: SecretBox) {
    this.#box = box;
  }

  seal(id: number, value: string): Buffer {
    return this.#box.seal(Buffer.from(value, 'utf8'), labelOf(id));
  }

  isSame(id: number, sealed: Buffer, value: string): boolean {
    return this.#box.open(sealed, labelOf(id)).equals(Buffer.from(value, 'utf8'));
  }
}

function labelOf(id: number): string {
  return `profile_secrets/${id}`;
}
