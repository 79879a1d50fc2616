import type { Transaction } from './context.js';
import type { FilterNode } from './query/filter-node.js';
import type { ResourceShape, ToManyShape, ToOne } from './shape.js';

/** A row as the database gives it: columns by name, Dates and numbers parsed. */
export type Row = Record<string, unknown> & { id: number };

export interface SortField {
  column: string;
  descending: boolean;
}

/** A collection below a resource: the rows that `relation` of parent `id` leads to. */
export interface Scope {
  parent: ResourceShape;
  relation: ToManyShape;
  id: number;
}

export interface ListQuery {
  shape: ResourceShape;
  columns: string[];
  /** ANDed. */
  filter: FilterNode[];
  sort: SortField[];
  page: { number: number; size: number };
  scope?: Scope;
  /** Count every match, however many. */
  exactTotal: boolean;
}

export interface ListResult {
  rows: Row[];
  total: number;
  totalIsEstimate: boolean;
}

export interface RelatedQuery {
  /** The related resource. */
  shape: ResourceShape;
  relation: ToOne | ToManyShape;
  columns: string[];
  /** Ids of the owners (to-many), or of the related rows themselves (to-one). */
  ids: number[];
  limit: number;
}

export interface RelatedRow {
  /** The owner's id; for a to-one relationship the row's own. */
  owner: number;
  row: Row;
}

export interface FindQuery {
  shape: ResourceShape;
  id: number;
  columns: string[];
  /** Keep the row locked until the transaction ends. */
  lock?: boolean;
}

/** One to-many relationship of the row `id`; `shape` is the related resource. */
export interface Link {
  relation: ToManyShape;
  shape: ResourceShape;
  id: number;
}

/**
 * The engine's view of the database; db/ implements it. Every SQL fault that a client can cause
 * comes out as an AppError. `trx` null = outside of any transaction.
 */
export interface Store {
  inTransaction<T>(work: (trx: Transaction) => Promise<T>): Promise<T>;
  /** At most two statements. AppError not_found when the scope's parent is missing. */
  list(query: ListQuery): Promise<ListResult>;
  find(trx: Transaction | null, query: FindQuery): Promise<Row | undefined>;
  /** One statement. Those of `ids` that exist, ordered by id. */
  findMany(
    trx: Transaction,
    query: { shape: ResourceShape; ids: number[]; columns: string[] },
  ): Promise<Row[]>;
  /** One statement. Ordered by id. */
  related(trx: Transaction | null, query: RelatedQuery): Promise<RelatedRow[]>;
  /** The ids in a to-many relationship, ascending. */
  linkage(trx: Transaction | null, link: Link): Promise<number[]>;
  /** The new row's id. */
  insert(
    trx: Transaction,
    input: { shape: ResourceShape; values: Record<string, unknown> },
  ): Promise<number>;
  /** False when there is no such row. */
  update(
    trx: Transaction,
    input: { shape: ResourceShape; id: number; values: Record<string, unknown> },
  ): Promise<boolean>;
  remove(trx: Transaction, input: { shape: ResourceShape; id: number }): Promise<boolean>;
  /** Those of `ids` that do not exist. The others can't vanish before the transaction ends. */
  missing(trx: Transaction, input: { shape: ResourceShape; ids: number[] }): Promise<number[]>;
  /** Adds to a join table; what is there already is left alone. */
  link(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<void>;
  unlink(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<void>;
}
