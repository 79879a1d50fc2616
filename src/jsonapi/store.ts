import type { Transaction } from './context.js';
import type { ResourceShape, ToManyShape, ToOne } from './definition/shape.js';
import type { FilterNode } from './query/filter-node.js';

/** A row as the database gives it: columns by name, Dates and numbers parsed. */
export type Row = Record<string, unknown> & { id: number };

export interface SortField {
  column: string;
  descending: boolean;
}

/** A place in a list's order, between two rows; the row it was taken from may be gone. */
export interface Position {
  /**
   * Of the sort fields before the id, as the database writes them: all their digits. null = those of
   * the row `id`, which are too long for a URL.
   */
  keys: (string | null)[] | null;
  id: number;
  /** The total of the list and whether it is an estimate, where counting again is not worth it. */
  total?: [total: number, isEstimate: boolean];
}

/** A page found by its place in the order instead of its number. */
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

/** Whose request a read is for. */
export interface Caller {
  /** Reads of one account take turns among themselves. */
  account: string;
  /** Aborted, with an AppError as the reason, when nobody waits for the rows any longer. */
  signal?: AbortSignal | undefined;
}

export interface ListQuery {
  caller?: Caller | undefined;
  shape: ResourceShape;
  columns: string[];
  /** ANDed. */
  filter: FilterNode[];
  sort: SortField[];
  page: { number: number; size: number };
  /** In place of the page's number. */
  keyset?: Keyset;
  scope?: Scope;
  /** Count every match, however many. */
  exactTotal: boolean;
}

export interface ListResult {
  rows: Row[];
  total: number;
  totalIsEstimate: boolean;
  /** With a keyset. */
  edges?: Edges;
}

/** Where a page by keyset begins and ends. */
export interface Edges {
  /** Of its first and last row; null when the page is empty. */
  first: Position | null;
  last: Position | null;
  /** There are more rows in the direction of the keyset. */
  hasMore: boolean;
}

export interface RelatedQuery {
  /** Outside of a transaction. */
  caller?: Caller | undefined;
  /** The related resource. */
  shape: ResourceShape;
  relation: ToOne | ToManyShape;
  columns: string[];
  /** Ids of the owners (to-many), or of the related rows themselves (to-one). */
  ids: number[];
  limit: number;
  /** Of many rows outside of a transaction. */
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

/** Which part of a to-many relationship; all of it where nothing is said. */
export interface LinkSelection {
  /** Outside of a transaction. */
  caller?: Caller | undefined;
  only?: number[];
  except?: number[];
  limit?: number;
  offset?: number;
}

/** An Idempotency-Key of one actor, and the digest of the request it came with. */
export interface KeyClaim {
  actor: string;
  key: string;
  digest: Buffer;
}

/** What the first request with a key was answered; `digest` is that request's. */
export interface FirstResponse {
  status: number;
  headers: { location?: string | undefined; etag?: string | undefined };
  body: Buffer | null;
  digest: Buffer;
}

/**
 * How the API sees the database; db/ implements it. Every SQL fault that a client can cause
 * comes out as an AppError. `trx` null = outside of any transaction; lists, counts and linkage are then
 * read by connections of their own, with AppError 400 `query_too_expensive` beyond a time limit and
 * 429 when the lists of the caller's account run already.
 */
export interface Store {
  inTransaction<T>(work: (trx: Transaction) => Promise<T>): Promise<T>;
  /**
   * Rows without a value come last in both directions. At most two statements, one or two more where
   * a page reaches the rows without a value or its cursor has no keys, and a few for a page of more
   * rows than are fetched at once.
   * AppError not_found when the scope's parent is missing.
   */
  list(query: ListQuery): Promise<ListResult>;
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
  /** How many ids are in a to-many relationship. One statement. */
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
  /** Those of `ids` that do not exist. The others can't vanish before the transaction ends. */
  missing(trx: Transaction, input: { shape: ResourceShape; ids: number[] }): Promise<number[]>;
  /** Adds to a relationship; what is there already is left alone. One statement. Those added. */
  link(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /** Removes what is there of the given. One statement. Those removed. */
  unlink(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /** Removes all but the given. One statement. Those removed. */
  unlinkOthers(trx: Transaction, link: Link & { relatedIds: number[] }): Promise<number[]>;
  /**
   * The digest of a request under a secret key: of a body that holds a PIN, a plain one would tell
   * the PIN to whoever tries them all.
   */
  keyedDigest(digest: Buffer): Buffer;
  /**
   * Claims the key until the transaction ends and for 24 hours once it is committed, or gives the
   * answer of the first request with it. Waits while another transaction holds the key.
   */
  claimKey(trx: Transaction, claim: KeyClaim): Promise<FirstResponse | undefined>;
  storeResponse(
    trx: Transaction,
    claim: KeyClaim,
    answer: Omit<FirstResponse, 'digest'>,
  ): Promise<void>;
}
