import type pg from 'pg';
import { isReadable } from '../../src/jsonapi/definition/attributes.js';
import {
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
} from '../../src/jsonapi/definition/definition.js';
import { columnOf } from '../../src/jsonapi/query/column-values.js';
import { ACTOR, READER } from './list-cases.js';

export type SampleValue = string | number | boolean;

/** What a table holds of one attribute. */
interface Spread {
  /** The value that most rows have, and one that few have. */
  common?: SampleValue;
  rare?: SampleValue;
  /** The least and the greatest. */
  first?: SampleValue;
  last?: SampleValue;
}

export interface Sample {
  /** Without rows nothing is to be learned from a filter or a sort. */
  isEmpty: boolean;
  values: Record<string, Spread>;
  /** Ids by relationship: of the other resource with most rows here, and of one with few. */
  related: Record<string, number[]>;
  /** The same of tags and groups by name, as `tags__name`. */
  namedLinks: Record<string, string[]>;
}

const ROWS = 1_000;

/** Values that a client may ask for, from rows spread over the table. */
export async function sampleOf(client: pg.Client, definition: ResourceDefinition): Promise<Sample> {
  const rows = await spreadRows(client, definition);
  const values: Record<string, Spread> = {};
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!isReadable(attribute, ACTOR) || columnOf(name, attribute) === undefined) continue;
    values[name] = spreadOf(rows.map((row) => row[name]));
  }
  const related: Sample['related'] = {};
  const namedLinks: Sample['namedLinks'] = {};
  for (const [name, relation] of Object.entries(definition.relationships)) {
    related[name] = await relatedIds(client, relation, rows);
    if (relation.kind === 'toMany' && 'table' in relation.via && related[name].length > 0) {
      namedLinks[`${name}__name`] = await namesOf(client, relation, related[name]);
    }
  }
  return { isEmpty: rows.length === 0, values, related, namedLinks };
}

type Row = Record<string, unknown>;

async function spreadRows(client: pg.Client, { table, isView }: ResourceDefinition) {
  const spread = `id = any(array(
    select (n * (select max(id) from "${table}") / ${ROWS})::bigint from generate_series(1, ${ROWS}) n))`;
  const where = isView ? `true limit ${ROWS}` : spread;
  return (await client.query<Row>(`select * from "${table}" where ${where}`)).rows;
}

function spreadOf(values: unknown[]): Spread {
  const counts = new Map<SampleValue, number>();
  for (const value of values) {
    const shown = shownValue(value);
    if (shown !== undefined) counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  const byCount = [...counts].sort(([, one], [, other]) => other - one).map(([value]) => value);
  const ordered = [...counts.keys()].sort((one, other) => (one < other ? -1 : 1));
  const [common, rare] = [byCount[0], byCount.at(-1)];
  const [first, last] = [ordered[0], ordered.at(-1)];
  if (common === undefined || rare === undefined) return {};
  return first === undefined || last === undefined
    ? { common, rare }
    : { common, rare, first, last };
}

function shownValue(value: unknown): SampleValue | undefined {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'boolean' || typeof value === 'number') return value;
  return typeof value === 'string' && value !== '' ? value : undefined;
}

async function relatedIds(client: pg.Client, relation: Relationship, rows: Row[]) {
  if (relation.kind === 'toOne') {
    const { common, rare } = spreadOf(rows.map((row) => Number(row[relation.column]) || undefined));
    return [...new Set([common, rare])].flatMap((id) => (typeof id === 'number' ? [id] : []));
  }
  const { via } = relation;
  if ('foreignKey' in via) {
    const { table } = relatedDefinition(READER.registry, relation);
    const text = `select max(id)::int as id from "${table}"`;
    const [row] = (await client.query<{ id: number | null }>(text)).rows;
    return row?.id == null ? [] : [row.id];
  }
  const text = `select "${via.other}"::int as id from "${via.table}" group by 1 order by count(*)`;
  const ids = (await client.query<{ id: number }>(text)).rows.map(({ id }) => id);
  return [...new Set([ids[0], ids.at(-1)])].flatMap((id) => id ?? []);
}

async function namesOf(client: pg.Client, relation: Relationship, ids: number[]) {
  const { table } = relatedDefinition(READER.registry, relation);
  const text = `select to_jsonb(t) ->> 'name' as name from "${table}" t where id = any($1)`;
  const { rows } = await client.query<{ name: string | null }>(text, [ids]);
  return rows.flatMap(({ name }) => name ?? []);
}
