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

/** On what a person, or a device, may enroll. */
export interface Admission {
  /** The link it came by. */
  linkId?: number;
}

/** Who may enroll: ENROLLMENT, and the links that admins made. */
export interface EnrollmentPolicy {
  /**
   * By the `token` of the request, when it has one. AppError enrollment_closed 403, which says why;
   * a link that is spent lets nobody in, however open the server is.
   */
  requireAllowed(token: string | undefined): Promise<Admission>;
  /**
   * Whoever was admitted a while ago: whether that still holds. `isCounted`: a use of the link was
   * counted for it since. AppError enrollment_closed 403.
   */
  requireStillAllowed(admitted: Admission, options?: { isCounted?: boolean }): Promise<void>;
  /** Whoever shows by other means that an admin wants the device. AppError 403 when closed. */
  requireNotClosed(): void;
  /** Whether ENROLLMENT lets strangers in. */
  isOpen: boolean;
}

/** No token of ours is as long. */
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

/** Why the link is good for nothing now; undefined when it is good. */
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
