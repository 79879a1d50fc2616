// Imports with extensions: tests that run in Node read this file, too.
import { type RowOf, rowsOf } from './rows.js';

/** A page of a list that is read by cursors. */
export interface ListPage<Row> {
  rows: Row[];
  total: number;
  next: string | undefined;
}

interface ListDocument<R> {
  data?: R[] | undefined;
  links?: { next?: string | null | undefined };
  meta?: { total?: number | undefined };
}

export function pageOf<R extends { id?: unknown; attributes?: object }>(
  document: ListDocument<R>,
): ListPage<RowOf<R>> {
  const rows = rowsOf({ data: document.data ?? [] });
  return {
    rows,
    total: document.meta?.total ?? rows.length,
    next: cursorOf(document.links?.next),
  };
}

/** The cursor of the next page; undefined on the last one. */
export function cursorOf(next: string | null | undefined): string | undefined {
  if (next === null || next === undefined) return undefined;
  return new URL(next, 'http://localhost').searchParams.get('page[after]') ?? undefined;
}
