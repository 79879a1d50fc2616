import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import {
  type EnrollmentLinkRow,
  findLink,
  findLinkByToken,
  LINK_FAULTS,
  linkStatus,
} from '../db/enroll/enrollment-link-repository.js';
import { AppError } from '../errors.js';

/** How a person or device was allowed to enroll. */
export interface Admission {
  /** The enrollment link that was used. */
  linkId?: number | undefined;
}

/** Longer than any token of an enrollment link. */
const MAX_TOKEN_CHARS = 200;

const NEEDS_LINK = 'enrollment needs a valid link from an administrator';

/** Who may enroll, by ENROLLMENT and the enrollment links. */
export class EnrollmentPolicy {
  readonly #db: Database;
  readonly #policy: Config['enrollment'];

  constructor({ db, policy }: { db: Database; policy: Config['enrollment'] }) {
    this.#db = db;
    this.#policy = policy;
  }

  /** Whether unknown devices may enroll. */
  get isOpen(): boolean {
    return this.#policy === 'open';
  }

  /**
   * AppError enrollment_closed 403 with the reason. A `token` must be that of a usable link, even if
   * enrollment is open.
   */
  async requireAllowed(token: string | undefined): Promise<Admission> {
    this.requireNotClosed();
    if (token !== undefined && token !== '') return { linkId: await usableLink(this.#db, token) };
    if (this.isOpen) return {};
    throw closed(NEEDS_LINK);
  }

  /**
   * Checks an earlier admission again. `isCounted`: its use of the link has been counted since.
   * AppError enrollment_closed 403.
   */
  async requireStillAllowed({ linkId }: Admission, { isCounted = false } = {}): Promise<void> {
    this.requireNotClosed();
    if (linkId === undefined) {
      if (!this.isOpen) throw closed(NEEDS_LINK);
      return;
    }
    requireUsable(await read(() => findLink(this.#db.knex, linkId)), isCounted);
  }

  /** For devices that need no link, as an admin has registered them. AppError 403 when closed. */
  requireNotClosed(): void {
    if (this.#policy === 'closed') throw closed('enrollment is closed on this server');
  }
}

function closed(message: string): AppError {
  return new AppError('enrollment_closed', 403, message);
}

async function usableLink({ knex }: Database, token: string): Promise<number> {
  const isOurs = token.length <= MAX_TOKEN_CHARS;
  const link = isOurs ? await read(() => findLinkByToken(knex, token)) : undefined;
  return requireUsable(link).id;
}

function requireUsable(link: EnrollmentLinkRow | undefined, isCounted = false): EnrollmentLinkRow {
  if (link === undefined) throw closed(NEEDS_LINK);
  const fault = LINK_FAULTS[linkStatus(isCounted ? { ...link, max_uses: null } : link)];
  if (fault !== undefined) throw closed(fault);
  return link;
}

async function read<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toAppError(error);
  }
}
