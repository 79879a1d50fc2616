import type { SecretBox } from '../crypto/secrets/secret-box.js';

/** A version of a profile. */
export interface VersionPlace {
  profileId: number;
  number: number;
}

export type Part = 'original' | 'content' | `payloads/${number}`;

/** Seals the parts of a stored version: any of them may hold a secret. */
export class SealedParts {
  constructor(private readonly box: SecretBox) {}

  seal(plain: Buffer, place: VersionPlace, part: Part): Buffer {
    return this.box.seal(plain, labelOf(place, part));
  }

  open(sealed: Buffer, place: VersionPlace, part: Part): Buffer {
    return this.box.open(sealed, labelOf(place, part));
  }
}

function labelOf({ profileId, number }: VersionPlace, part: Part): string {
  return `profiles/${profileId}/versions/${number}/${part}`;
}
