import type { StatementPart } from './create-plan.js';

export const ROLES = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export interface Actor {
  name: string;
  role: Role;
  /** Id of the actor's stored token; undefined for ADMIN_TOKEN, which has no row. */
  tokenId?: number | undefined;
  /** The browser session by which it acts; undefined for a program with a token. */
  session?: Session | undefined;
}

export interface Session {
  id: number;
  /** When a person last proved to have the token. */
  authenticatedAt: Date;
}

/** Who sent a request, from where. The HTTP layer stores it in `res.locals.context`. */
export interface RequestContext {
  requestId: string;
  actor: Actor;
  sourceAddress: string | null;
}

/**
 * An open database transaction. Knex's type is assignable to it, so that an implementation of an
 * interface of this folder may require Knex's type instead.
 */
export interface Transaction {
  isCompleted(): boolean;
}

/** null: there was, or is, no value. */
export type ValueChange = [before: unknown, after: unknown];

export interface LinkChange {
  added: number[];
  removed: number[];
}

/** By attribute or relationship. A secret is only marked as changed. */
export type Changes = Record<string, ValueChange | LinkChange | 'changed'>;

/** Who acted: an admin's token, a person, or the server itself. */
export interface AuditContext {
  requestId: string;
  actor: { name: string; role: string; session?: Pick<Session, 'id'> | undefined };
  sourceAddress: string | null;
}

/** The actor of automatic work. */
export const SYSTEM_ACTOR = { name: 'system', role: 'system' } as const;

/** The values of an event: changes, details or both, and never a secret. */
export type AuditValues =
  | { changes: Changes; details?: Record<string, unknown> | undefined }
  | { changes?: undefined; details: Record<string, unknown> };

/** An event of a row that has no id yet. */
export type AuditOfCreated = AuditValues & {
  context: AuditContext;
  /** `<collection>.<verb>`, e.g. `devices.update`. */
  action: string;
  targetType: string;
  outcome: 'success' | 'refused';
};

/** One event of the audit trail. */
export type AuditEvent = AuditOfCreated & { targetId: string | number | null };

interface AuditSignature {
  write(trx: Transaction, event: AuditEvent): Promise<void>;
}

/** Writes the event in the caller's transaction, so that no change lacks its event. */
export type AuditWriter = AuditSignature['write'];

/** An event of the row `created` of a statement, as one more part of that statement. */
export type AuditPartWriter = (event: AuditOfCreated) => StatementPart;

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Whether the actor has at least this role: each role includes the ones below it. */
export function hasRole(actor: Actor, needed: Role): boolean {
  return RANK[actor.role] >= RANK[needed];
}

/** The role that includes the other. */
export function higherRole(one: Role, other: Role): Role {
  return RANK[one] >= RANK[other] ? one : other;
}
