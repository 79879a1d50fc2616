/** A rule of a filter, as docs/api.md describes it. */
export interface Rule {
  name: string;
  op: string;
  val: unknown;
}

export interface ListQuery {
  fields?: Record<string, readonly string[]>;
  /** Matches name, serial number, UDID, user and asset tag. */
  search?: string | undefined;
  rules?: readonly Rule[];
  sort?: string | undefined;
  size?: number;
  /** A cursor; empty for the first page. */
  after?: string | undefined;
}

/** The query of a list, in the form that the API reads. */
export function queryString({ fields = {}, search, rules = [], sort, size, after }: ListQuery) {
  const query = new URLSearchParams();
  for (const [type, names] of Object.entries(fields)) query.set(`fields[${type}]`, names.join(','));
  const term = search?.trim() ?? '';
  if (term !== '') query.append('filter[]', JSON.stringify(searchRule(term)));
  for (const rule of rules) query.append('filter[]', JSON.stringify(rule));
  if (sort !== undefined && sort !== '') query.set('sort', sort);
  if (size !== undefined) query.set('page[size]', String(size));
  if (after !== undefined) query.set('page[after]', after);
  return query.toString();
}

const SEARCHED = ['device_name', 'serial_number', 'udid', 'asset_tag'];

function searchRule(term: string) {
  // In a pattern these three stand for others.
  const pattern = `%${term.replace(/[\\%_]/g, '\\$&')}%`;
  return { or: SEARCHED.map((name) => ({ name, op: 'ilike', val: pattern })) };
}

/** The cursor in a link to the next page; undefined on the last one. */
export function cursorOf(next: string | null | undefined): string | undefined {
  if (next == null) return undefined;
  return new URLSearchParams(next.split('?')[1]).get('page[after]') ?? undefined;
}
