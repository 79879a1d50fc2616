import type { AuditPartWriter, AuditWriter, RequestContext, Transaction } from './context.js';
import type { Registry } from './definition/definition.js';
import type { Document, DocumentForm } from './documents/document.js';
import type { Caller, Store } from './store.js';

/** The parts of one JSON:API surface, for every operation. */
export interface ApiContext {
  registry: Registry;
  store: Store;
  audit: AuditWriter;
  /** Without it every create takes a transaction. */
  auditPart?: AuditPartWriter | undefined;
  services: unknown;
  effectCheck?: EffectCheck | undefined;
  /** Without it one request changes any number of links. */
  linkJobs?: LinkJobs | undefined;
  /** The prefix of every path in links, without a trailing slash. */
  basePath: string;
}

/** Runs before the commit of a write. */
export interface EffectCheck {
  /**
   * AppError 409 `confirmation_required` for a write that changes more devices than the client has
   * confirmed.
   */
  check(trx: Transaction, confirm: number | undefined): Promise<void>;
  /** The same for `count` devices that a filter matches; `most` need no confirmation in any case. */
  checkMatched(match: { count: number; most: number; confirm: number | undefined }): void;
}

/** Changes links that are too many for one request. */
export interface LinkJobs {
  /** Adds jobs in the transaction of the request, whose filter matched these rows. */
  add(trx: Transaction, change: LinkJob): Promise<void>;
}

export interface LinkJob {
  /** Type of the owner; `id` is its id, `name` its relationship. */
  type: string;
  id: number;
  name: string;
  verb: 'add' | 'remove';
  relatedIds: number[];
}

/** The key of a write and the digest of its request. */
export interface Idempotency {
  /** Value of the header Idempotency-Key. */
  key: string;
  /** SHA-256 of method, path, query and body. */
  digest: Buffer;
}

/** An HTTP request reduced to what the operations read. */
export interface ApiRequest {
  /** The id in the path; 0 where the path has none. */
  id: number;
  query: URLSearchParams;
  /** Path as links show it: without query and trailing slash. */
  path: string;
  context: RequestContext;
  /** Aborted when the client disconnects before the response. */
  signal?: AbortSignal | undefined;
  /** The form of the response. */
  form: DocumentForm;
  body: unknown;
  /** Writes only: the number of devices that the client confirms. */
  confirm?: number | undefined;
  /** The header If-Match. */
  ifMatch?: string | undefined;
  /** Set for a write with an Idempotency-Key. */
  idempotency?: Idempotency | undefined;
}

/** The account whose limits a read outside of a transaction counts for. */
export function callerOf({ context, signal }: Pick<ApiRequest, 'context' | 'signal'>): Caller {
  const { role, name } = context.actor;
  return { account: `${role}:${name}`, signal };
}

export interface Answer {
  status: number;
  document?: Document | undefined;
  /** The bytes of the document with numbers for ids, if already written. */
  body?: Buffer | undefined;
  /** A document that was written in slices, in the form that the client requested. */
  chunks?: Buffer[] | undefined;
  location?: string | undefined;
  /** With its quotes, for the document with numbers for ids. */
  etag?: string | undefined;
  /** It is the stored response to an earlier request with the same Idempotency-Key. */
  replayed?: boolean;
}

export type Handler = (api: ApiContext, request: ApiRequest) => Promise<Answer>;

/**
 * Parses a request without the database and returns the work of its transaction, which may run more
 * than once until it is committed.
 */
export type WriteHandler = (
  api: ApiContext,
  request: ApiRequest,
) => (trx: Transaction) => Promise<Answer>;
