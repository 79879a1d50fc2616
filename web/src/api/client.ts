import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

/** What the server answered in place of the resource. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string | null,
  ) {
    super(detail);
  }
}

/** Changes by the session's cookie need the header, so that no page of another site can request them. */
export const client = createClient<paths>({
  headers: { Accept: 'application/vnd.api+json', 'X-Muster-Console': '1' },
});

interface ErrorDocument {
  errors?: { code?: string; detail?: string; title?: string }[];
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The document of an answer; ApiError for any status but 2xx. */
export function documentOf<T>({ data, error, response }: Answer<T>): T {
  if (response.ok) return data as T;
  const [first] = (error as ErrorDocument | undefined)?.errors ?? [];
  const detail = first?.detail ?? first?.title ?? `the server answered ${response.status}`;
  const requestId = response.headers.get('x-request-id');
  throw new ApiError(response.status, first?.code ?? '', detail, requestId);
}
