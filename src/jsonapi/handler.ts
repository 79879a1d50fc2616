import type { AuditWriter, RequestContext, Transaction } from './context.js';
import type { Registry } from './definition/definition.js';
import type { Document, DocumentForm } from './documents/document.js';
import type { Idempotency } from './requests/idempotency.js';
import type { Caller, Store } from './store.js';

/** What every operation works with. */
export interface ApiContext {
  registry: Registry;
  store: Store;
  audit: AuditWriter;
  services: unknown;
  /** In front of every path in links, without a slash at its end. */
  basePath: string;
}

/** An HTTP request reduced to what the operations read. */
export interface ApiRequest {
  /** The id in the path; 0 where the path has none. */
  id: number;
  query: URLSearchParams;
  /** Path as links show it: without the query and the slash at its end. */
  path: string;
  context: RequestContext;
  /** Aborted when the client goes away before its answer. */
  signal?: AbortSignal | undefined;
  /** Of the answer. */
  form: DocumentForm;
  body: unknown;
  /** The header of that name. */
  ifMatch?: string | undefined;
  /** Of a write that came with an Idempotency-Key. */
  idempotency?: Idempotency | undefined;
}

/** Whose turn a read outside of a transaction takes. */
export function callerOf({ context, signal }: Pick<ApiRequest, 'context' | 'signal'>): Caller {
  const { role, name } = context.actor;
  return { account: `${role}:${name}`, signal };
}

export interface Answer {
  status: number;
  document?: Document | undefined;
  /** The document with numbers for ids, where its bytes are fixed already. */
  body?: Buffer | undefined;
  /** A document that was written in slices, in the form that the client asked for. */
  chunks?: Buffer[];
  location?: string;
  /** With its quotes; of the document with numbers for ids. */
  etag?: string | undefined;
  /** The first answer to an earlier request with the same Idempotency-Key. */
  replayed?: boolean;
}

export type Handler = (api: ApiContext, request: ApiRequest) => Promise<Answer>;

/**
 * Reads what it can of a request without the database and returns the work of its transaction,
 * which may run more than once until it is committed.
 */
export type WriteHandler = (
  api: ApiContext,
  request: ApiRequest,
) => (trx: Transaction) => Promise<Answer>;
