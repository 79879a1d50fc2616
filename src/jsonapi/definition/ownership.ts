import { type Actor, hasRole, type Role } from '../context.js';
import type { FilterNode } from '../query/filter-node.js';
import type { Row } from '../store.js';

/** Rows that belong to the token that made them. */
export interface Ownership {
  /** The column with the token's id. */
  column: string;
  /** The role that reaches the rows of others. */
  seesAll: Role;
}

interface Owned {
  ownership?: Ownership | undefined;
}

/** What restricts a list to the rows that the actor may reach. */
export function ownRows({ ownership }: Owned, actor: Actor): FilterNode[] {
  if (ownership === undefined || hasRole(actor, ownership.seesAll)) return [];
  const column = { name: ownership.column, kind: 'integer' as const, ignoreCase: false };
  return [{ kind: 'compare', column, op: 'eq', value: actor.tokenId ?? 0 }];
}

/** Whether the actor may reach a row that has `ownerColumns`. */
export function isReachable({ ownership }: Owned, row: Row, actor: Actor): boolean {
  if (ownership === undefined || hasRole(actor, ownership.seesAll)) return true;
  return actor.tokenId !== undefined && row[ownership.column] === actor.tokenId;
}

export function ownerColumns({ ownership }: Owned): string[] {
  return ownership === undefined ? [] : [ownership.column];
}
