import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import {
  type EnrollmentLinkRow,
  findLink,
  findLinkByToken,
  linkStatus,
} from '../db/enroll/enrollment-link-repository.js';
import { AppError } from '../errors.js';

/** How a person or device was allowed to enroll. */
export interface Admission {
  /** The enrollment link that was used. */
  linkId?: number | undefined;
}

/** Who may enroll, by ENROLLMENT and the enrollment links. */
export interface EnrollmentPolicy {
  /**
   * AppError enrollment_closed 403 with the reason. A `token` must be that of a usable link, even if
   * enrollment is open.
   */
  requireAllowed(token: string | undefined): Promise<Admission>;
  /**
   * Checks an earlier admission again. `isCounted`: its use of the link has been counted since.
   * AppError enrollment_closed 403.
   */
  requireStillAllowed(admitted: Admission, options?: { isCounted?: boolean }): Promise<void>;
  /** For devices that need no link, as an admin has registered them. AppError 403 when closed. */
  requireNotClosed(): void;
  /** Whether unknown devices may enroll. */
  isOpen: boolean;
}

/** Longer than any token of ours. */
const MAX_TOKEN_CHARS = 200;

const NEEDS_LINK = 'enrollment needs a valid link from an administrator';

function closed(message: string): AppError {
  return new AppError('enrollment_closed', 403, message);
}

const LINK_FAULTS = {
  usable: undefined,
  disabled: 'an administrator has disabled this link',
  expired: 'this link has expired',
  spent: 'this link was used as often as it may be',
};

/** Why the link cannot be used now; undefined if it can. */
export function linkFault(link: EnrollmentLinkRow, now = new Date()): string | undefined {
  return LINK_FAULTS[linkStatus(link, now)];
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
    requireNotClosed: refuseClosed,
    async requireAllowed(token) {
      refuseClosed();
      if (token !== undefined && token !== '') return { linkId: await usableLink(db, token) };
      if (policy === 'open') return {};
      throw closed(NEEDS_LINK);
    },
    async requireStillAllowed({ linkId }, { isCounted = false } = {}) {
      refuseClosed();
      if (linkId === undefined) {
        if (policy !== 'open') throw closed(NEEDS_LINK);
        return;
      }
      requireUsable(await read(() => findLink(db.knex, linkId)), isCounted);
    },
  };
}

function requireUsable(link: EnrollmentLinkRow | undefined, isCounted = false): EnrollmentLinkRow {
  if (link === undefined) throw closed(NEEDS_LINK);
  const fault = linkFault(isCounted ? { ...link, max_uses: null } : link);
  if (fault !== undefined) throw closed(fault);
  return link;
}

async function usableLink({ knex }: Database, token: string): Promise<number> {
  const isOurs = token.length <= MAX_TOKEN_CHARS;
  const link = isOurs ? await read(() => findLinkByToken(knex, token)) : undefined;
  return requireUsable(link).id;
}

async function read<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toAppError(error);
  }
}
