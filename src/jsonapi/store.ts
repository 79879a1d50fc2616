import type { Transaction } from './context.js';
import type { CreatePlan } from './create-plan.js';
import type { ResourceShape, ToManyShape, ToOne } from './definition/shape.js';
import type { FilterNode } from './query/filter-node.js';

/** A row from the database: columns by name, Dates and numbers parsed. */
export type Row = Record<string, unknown> & { id: number };

export interface SortField {
  column: string;
  descending: boolean;
  /** `column` is of the row that this to-one relationship points to. */
  related?: { relationship: string; foreignKey: string; shape: ResourceShape } | undefined;
}

/** As a client writes it, without the direction. */
export function sortName({ column, related }: SortField): string {
  return related === undefined ? column : `${related.relationship}.${column}`;
}

/** A position in a list's order. The row it was taken from may be deleted. */
export interface Position {
  /**
   * Values of the sort fields before the id, as PostgreSQL writes them. null = those of the row `id`,
   * because they are too long for a URL.
   */
  keys: (string | null)[] | null;
  id: number;
  /** The total of the list and whether it is an estimate, if counting again is too slow. */
  total?: [total: number, isEstimate: boolean] | undefined;
}

/** A page by its position in the order instead of its number. */
export interface Keyset {
  direction: 'after' | 'before';
  /** null = the first page after, or the last page before. */
  position: Position | null;
}

/** A collection below a resource: the rows that `relation` of parent `id` leads to. */
export interface Scope {
  parent: ResourceShape;
  relation: ToManyShape;
  id: number;
}

/** The client that a read is for. */
export interface Caller {
  /** Reads of one account share its limit of connections. */
  account: string;
  /** Aborted, with an AppError as the reason, when the client no longer waits for the rows. */
  signal?: AbortSignal | undefined;
}

/**
 * How a list counts its matches: `upToLimit` estimates many, `exact` counts every one, `none` counts
 * only where the page shows the number by itself.
 */
export type TotalMode = 'upToLimit' | 'exact' | 'none';

export interface ListQuery {
  caller?: Caller | undefined;
  shape: ResourceShape;
  columns: string[];
  /** ANDed. */
  filter: FilterNode[];
  sort: SortField[];
  page: { number: number; size: number };
  /** Instead of the page's number. */
  keyset?: Keyset | undefined;
  scope?: Scope | undefined;
  totalMode: TotalMode;
}

export interface ListResult {
  rows: Row[];
  /** Matches; undefined if they were not counted. */
  total: number | undefined;
  totalIsEstimate: boolean;
  /** Only with a keyset. */
  edges?: Edges | undefined;
}

/** The ends of a page by keyset. */
export interface Edges {
  /** Positions of its first and last row; null if the page is empty. */
  first: Position | null;
  last: Position | null;
  /** There are more rows in the direction of the keyset. */
  hasMore: boolean;
}

/** What to count the values of, and among which rows. */
export interface FacetQuery {
  caller?: Caller | undefined;
  shape: ResourceShape;
  /** ANDed. */
  filter: FilterNode[];
  /** Attributes that are columns. */
  names: string[];
  /** Values of each to return: the most frequent ones. */
  most: number;
}

export interface FacetValue {
  value: string | number | boolean | null;
  count: number;
}

export interface Facet {
  name: string;
  values: FacetValue[];
  /** Rows that match, and those of them with another value. */
  total: number;
  other: number;
}

export interface RelatedQuery {
  /** For a read outside of a transaction. */
  caller?: Caller | undefined;
  /** The related resource. */
  shape: ResourceShape;
  relation: ToOne | ToManyShape;
  columns: string[];
  /** Ids of the owners (to-many), or of the related rows themselves (to-one). */
  ids: number[];
  limit: number;
  /** Limit for a read outside of a transaction. */
  maxBytes?: number | undefined;
}

export interface RelatedRow {
  /** The owner's id; for a to-one relationship the row's own. */
  owner: number;
  row: Row;
}

export interface FindQuery {
  shape: ResourceShape;
  id: number;
  columns: readonly string[];
  /** Lock the row until the transaction ends. */
  lock?: boolean | undefined;
}

/** One to-many relationship of the row `id`; `shape` is the related resource. */
export interface Link {
  relation: ToManyShape;
  shape: ResourceShape;
  id: number;
}

/** Selects ids of a to-many relationship; all by default. */
export interface LinkSelection {
  /** For a read outside of a transaction. */
  caller?: Caller | undefined;
  only?: number[] | undefined;
  except?: number[] | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

/** An Idempotency-Key of one actor, and the keyed digest of its request. */
export interface KeyClaim {
  actor: string;
  key: string;
  digest: Buffer;
}

/** The response to the first request with a key; `digest` is that request's. */
export interface FirstResponse {
  status: number;
  headers: { location?: string | undefined; etag?: string | undefined };
  body: Buffer | null;
  digest: Buffer;
}

export interface NamedRows {
  shape: ResourceShape;
  ids: number[];
  /** Whether the transaction changes them afterwards. */
  willChange?: boolean | undefined;
}

/** What the columns of a table hold in a row for which an insert names no value. */
export interface ColumnDefaults {
  /** Constants; null for a column without a default. Others, such as generated ones, are left out. */
  values: Record<string, unknown>;
  /** The columns whose default is the time. */
  times: string[];
}

/** One statement that stores a row and what belongs to it. */
export interface GuardedInsert extends Pick<CreatePlan, 'guard' | 'effects'> {
  shape: ResourceShape;
  /** With the id, if `nextId` has chosen it. */
  values: Record<string, unknown>;
  /** The columns of the row to return. */
  columns: string[];
  /** Stores the answer under its key; nothing is stored if the key is taken. */
  response?: { claim: KeyClaim; answer: Omit<FirstResponse, 'digest'> } | undefined;
}

/**
 * The database as the API needs it; db/store implements it. Every SQL error that a client can cause
 * becomes an AppError. `trx` null = outside of any transaction: lists, counts and linkage then have
 * separate connections, with AppError 400 `query_too_expensive` beyond a time limit and 429 while too
 * many lists of the caller's account run.
 */
export interface Store {
  inTransaction<T>(work: (trx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Rows without a value come last in both directions. At most two statements; one or two more if a
   * page reaches the rows without a value or its cursor has no keys, and a few for a page of more rows
   * than are fetched at once. AppError not_found if the scope's parent is missing.
   */
  list(query: ListQuery): Promise<ListResult>;
  /** One statement, in the order of `names`. */
  countFacets(query: FacetQuery): Promise<Facet[]>;
  find(trx: Transaction | null, query: FindQuery): Promise<Row | undefined>;
  /** One statement. Those of `ids` that exist, ordered by id. */
  findMany(
    trx: Transaction,
    query: { shape: ResourceShape; ids: number[]; columns: string[] },
  ): Promise<Row[]>;
  /** One statement, a few more for more than 200 rows. Ordered by id. */
  related(trx: Transaction | null, query: RelatedQuery): Promise<RelatedRow[]>;
  /** The ids in a to-many relationship, ascending. */
  linkage(trx: Transaction | null, link: Link & LinkSelection): Promise<number[]>;
  /** The ids of all rows that match, ascending. One statement. */
  matching(
    trx: Transaction,
    query: { shape: ResourceShape; filter: readonly FilterNode[] },
  ): Promise<number[]>;
  /** The number of ids in a to-many relationship. One statement. */
  countLinked(trx: Transaction | null, link: Link & Pick<LinkSelection, 'caller'>): Promise<number>;
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
  /** Those of `ids` that do not exist. Locks the others against deletion, or any change. */
  missing(trx: Transaction, input: NamedRows): Promise<number[]>;
  /** Adds ids to a relationship and returns those added. One statement. */
  link(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /** Removes ids from a relationship and returns those removed. One statement. */
  unlink(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /** Removes all other ids and returns those removed. One statement. */
  unlinkOthers(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /**
   * The digest of a request under a secret key. The plain digest of a body with a PIN could be
   * brute-forced.
   */
  keyedDigest(digest: Buffer): Buffer;
  /**
   * Claims the key until the transaction ends and for 24 hours once it is committed, or returns the
   * response to its first request. Waits while another transaction holds the key.
   */
  claimKey(trx: Transaction, claim: KeyClaim): Promise<FirstResponse | undefined>;
  storeResponse(
    trx: Transaction,
    claim: KeyClaim,
    answer: Omit<FirstResponse, 'digest'>,
  ): Promise<void>;
  /** Reads the catalog once. */
  columnDefaults(shape: ResourceShape): Promise<ColumnDefaults>;
  /** An id for a new row, and the time of the database. */
  nextId(shape: ResourceShape): Promise<{ id: number; now: Date }>;
  /**
   * Undefined if nothing is stored: the guard selected no row, the key is taken, a value does not fit
   * or another transaction was in the way. A transaction then finds the reason, or succeeds.
   */
  insertGuarded(insert: GuardedInsert): Promise<Row | undefined>;
}
