import type { AuditWriter, RequestContext } from './context.js';
import type { Registry } from './definition.js';
import type { Document } from './document.js';
import type { Store } from './store.js';

/** What every operation works with. */
export interface Engine {
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
  body: unknown;
}

export interface Answer {
  status: 200 | 201 | 204;
  document?: Document;
  location?: string;
}

export type Handler = (engine: Engine, request: ApiRequest) => Promise<Answer>;
