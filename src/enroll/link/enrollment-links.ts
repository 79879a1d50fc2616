import { randomBytes } from 'node:crypto';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import {
  type EnrollmentLinkRow,
  type LinkStatus,
  linkStatus,
  linkTokenHash,
} from '../../db/enroll/enrollment-link-repository.js';

const TOKEN_BYTES = 24;

export interface EnrollmentLinksDeps {
  box: SecretBox;
  /** URL for devices, without a trailing slash. */
  publicUrl: string;
}

/** The tokens of enrollment links, and the addresses that carry them. */
export class EnrollmentLinks {
  constructor(readonly deps: EnrollmentLinksDeps) {}

  newToken(): { token: string; hash: Buffer } {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    return { token, hash: linkTokenHash(token) };
  }

  /** The sealed token can be opened for the row of this id only. */
  sealToken(id: number, token: string): Buffer {
    return this.deps.box.seal(Buffer.from(token, 'utf8'), identityOf(id));
  }

  /** URL of the landing page. AppError master_key_mismatch for another row's token. */
  urlOf(id: number, sealedToken: Buffer): string {
    const token = this.deps.box.open(sealedToken, identityOf(id)).toString('utf8');
    return this.urlWith(token);
  }

  urlWith(token: string): string {
    return `${this.deps.publicUrl}/enroll/?token=${token}`;
  }

  statusOf(link: Parameters<typeof linkStatus>[0]): LinkStatus {
    return linkStatus(link);
  }
}

function identityOf(id: EnrollmentLinkRow['id']): string {
  return `enrollment_links/${id}/token`;
}
