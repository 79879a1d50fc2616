import { type Query, queryString } from './query-string';

/** The path of a request with its query, as a shell sends it. */
export function pathOf(path: string, query: Query = {}): string {
  const text = queryString(query);
  return `/api/v1${path}${text === '' ? '' : `?${text}`}`;
}
