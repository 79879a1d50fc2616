import type { SecretBox } from '../crypto/secrets/secret-box.js';

/** A version of a profile. */
export interface VersionPlace {
  profileId: number;
  number: number;
}

export type Part = 'original' | 'content' | `payloads/${number}`;

/** The parts of a stored version: any of them may hold a secret, so all are sealed. */
export class SealedParts {
  constructor(private readonly box: SecretBox) {}

  seal(plain: Buffer, place: VersionPlace, part: Part): Buffer {
    return this.box.seal(plain, identityOf(place, part));
  }

  open(sealed: Buffer, place: VersionPlace, part: Part): Buffer {
    return this.box.open(sealed, identityOf(place, part));
  }
}

function identityOf({ profileId, number }: VersionPlace, part: Part): string {
  return `profiles/${profileId}/versions/${number}/${part}`;
}
