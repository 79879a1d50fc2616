import type { ListQuery } from '../../jsonapi/store.js';
import { alias } from './filter-sql.js';
import { quoted } from './text-sql.js';

/** A hundredth of the rows, but of a table no more than these pages. */
const MAX_PERCENT = 1;
const MAX_PAGES = 500;

/** Samples the same pages of a table each time, so that an estimate changes only with the rows. */
const SEED = 1;

/** For `from`, behind a table: a hundredth of its rows. */
export const HUNDREDTH = ` tablesample system (${MAX_PERCENT}) repeatable (${SEED})`;

/** One row with the `oid` of a table and its `pages`. */
export function pagesSql(table: string): string {
  const pages = "pg_relation_size(oid) / current_setting('block_size')::integer as pages";
  return `select oid, ${pages} from (select '${quoted(table)}'::regclass::oid) as t (oid)`;
}

/** For `from`: a sample of the rows of a resource, of no more than `maxPages` of its table. */
export function sampled(shape: ListQuery['shape'], maxPages = MAX_PAGES): string {
  const { table, sample } = shape;
  if (sample !== undefined) return `${quoted(sample)} as ${alias(0)}`;
  const part = percent(table, maxPages);
  return `${quoted(table)} as ${alias(0)} tablesample system (${part}) repeatable (${SEED})`;
}

/** How many rows there are for each of the sample. */
export function rowsPerSampled({ table, sample }: ListQuery['shape']): string {
  return sample === undefined ? `(100 / ${percent(table, MAX_PAGES)})` : `${100 / MAX_PERCENT}`;
}

function percent(table: string, maxPages: number): string {
  const part = `least(${MAX_PERCENT}, ${100 * maxPages}.0 / greatest(size.pages, 1))`;
  return `(select ${part} from (${pagesSql(table)}) as size)`;
}
