import type { Config } from '../config.js';
import type { Database } from '../db/database.js';
import { type EnrollmentLinkRow, findLinkByToken } from '../db/enrollment-link-repository.js';
import { toAppError } from '../db/sqlstate.js';
import { AppError } from '../errors.js';

/** On what a person, or a device, may enroll. */
export interface Admitted {
  /** The link it came by. */
  linkId?: number;
}

/** Who may enroll: ENROLLMENT, and the links that admins made. */
export interface EnrollmentPolicy {
  /**
   * By the `token` of the request, when it has one. AppError enrollment_closed 403, which says why;
   * a link that is spent lets nobody in, however open the server is.
   */
  admit(token: string | undefined): Promise<Admitted>;
  /** Whoever shows by other means that an admin wants the device. AppError 403 when closed. */
  admitKnown(): void;
  /** Whether ENROLLMENT lets strangers in. */
  isOpen: boolean;
}

/** No token of ours is as long. */
const MAX_TOKEN_CHARS = 200;

function closed(message: string): AppError {
  return new AppError('enrollment_closed', 403, message);
}

/** Why the link is good for nothing now; undefined when it is good. */
export function linkFault(link: EnrollmentLinkRow, now = new Date()): string | undefined {
  if (link.is_disabled) return 'an administrator has disabled this link';
  if (link.expires_at !== null && link.expires_at <= now) return 'this link has expired';
  if (link.max_uses !== null && link.uses >= link.max_uses) {
    return 'this link was used as often as it may be';
  }
  return undefined;
}

export function createEnrollmentPolicy(deps: {
  db: Database;
  policy: Config['enrollment'];
}): EnrollmentPolicy {
  const { db, policy } = deps;
  const refuseClosed = () => {
    if (policy === 'closed') throw closed('enrollment is closed on this server');
  };
  return {
    isOpen: policy === 'open',
    admitKnown: refuseClosed,
    async admit(token) {
      refuseClosed();
      if (token !== undefined && token !== '') return { linkId: await usableLink(db, token) };
      if (policy === 'open') return {};
      throw closed('enrollment needs a valid link from an administrator');
    },
  };
}

async function usableLink({ knex }: Database, token: string): Promise<number> {
  const link = token.length > MAX_TOKEN_CHARS ? undefined : await find(knex, token);
  if (link === undefined) throw closed('enrollment needs a valid link from an administrator');
  const fault = linkFault(link);
  if (fault !== undefined) throw closed(fault);
  return link.id;
}

async function find(knex: Database['knex'], token: string) {
  try {
    return await findLinkByToken(knex, token);
  } catch (error) {
    throw toAppError(error);
  }
}
