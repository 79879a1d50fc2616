import type { Links } from './document.js';
import type { Page } from './query/page.js';
import type { ListResult } from './store.js';

export interface Paging {
  path: string;
  query: URLSearchParams;
  page: Page;
  result: ListResult;
}

/** `self`, `first`, `prev`, `next`, `last` with the request's own query. null = there is none. */
export function pageLinks({ path, query, page, result }: Paging): Links {
  const { rows, total, totalIsEstimate } = result;
  const last = Math.max(1, Math.ceil(total / page.size));
  const hasNext = totalIsEstimate ? rows.length === page.size : page.number < last;
  const at = (number: number) => withQuery(path, pageOf(query, number));
  return {
    self: withQuery(path, query),
    first: at(1),
    prev: page.number > 1 ? at(Math.min(page.number - 1, last)) : null,
    next: hasNext ? at(page.number + 1) : null,
    last: totalIsEstimate ? null : at(last),
  };
}

function pageOf(query: URLSearchParams, number: number): URLSearchParams {
  const changed = new URLSearchParams(query);
  changed.set('page[number]', String(number));
  return changed;
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
