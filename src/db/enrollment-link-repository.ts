import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** What decides whether a link lets someone in. */
export interface EnrollmentLinkRow {
  id: number;
  name: string;
  max_uses: number | null;
  uses: number;
  expires_at: Date | null;
  is_disabled: boolean;
}

/** What is stored of a token to find its link by. */
export function linkTokenHash(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

export async function findLinkByToken(
  knex: Knex,
  token: string,
): Promise<EnrollmentLinkRow | undefined> {
  return await knex('enrollment_links')
    .where({ token_hash: linkTokenHash(token) })
    .first<EnrollmentLinkRow | undefined>(
      'id',
      'name',
      'max_uses',
      'uses',
      'expires_at',
      'is_disabled',
    );
}
