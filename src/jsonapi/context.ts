export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export interface Actor {
  name: string;
  role: Role;
}

/** Who asks, from where. The HTTP layer leaves it at `res.locals.context`. */
export interface RequestContext {
  requestId: string;
  actor: Actor;
  sourceAddress: string | null;
}

/**
 * An open database transaction. Only db/ knows what is inside: Knex's type fits, and whoever
 * implements an interface of this folder may ask for Knex's type in its place.
 */
export interface Transaction {
  isCompleted(): boolean;
}

/** Before and after; null: there was, or is, none. */
export type ValueChange = [before: unknown, after: unknown];

export interface LinkChange {
  added: number[];
  removed: number[];
}

/** By attribute or relationship. Of a secret it is only said that it was written. */
export type Changes = Record<string, ValueChange | LinkChange | 'changed'>;

/** Who did it: an admin's token, a person, or the server itself. */
export interface AuditContext {
  requestId: string;
  actor: { name: string; role: string };
  sourceAddress: string | null;
}

/** What an event says beside who did what to what: never nothing, and never a secret. */
export type AuditValues =
  | { changes: Changes; details?: Record<string, unknown> | undefined }
  | { changes?: undefined; details: Record<string, unknown> };

/** One event of the audit trail. */
export type AuditEvent = AuditValues & {
  context: AuditContext;
  /** `<collection>.<verb>`, e.g. `devices.update`. */
  action: string;
  targetType: string;
  targetId: string | number | null;
  outcome: 'success' | 'refused';
};

interface AuditSignature {
  write(trx: Transaction, event: AuditEvent): Promise<void>;
}

/** Writes the line in the caller's transaction, so that no change is without its line. */
export type AuditWriter = AuditSignature['write'];

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** True when `actor` may do what needs `needed`: each role includes the ones below it. */
export function hasRole(actor: Actor, needed: Role): boolean {
  return RANK[actor.role] >= RANK[needed];
}

/** The one that includes the other. */
export function higherRole(one: Role, other: Role): Role {
  return RANK[one] >= RANK[other] ? one : other;
}
