import { isReadable } from '../../src/jsonapi/definition/attributes.js';
import {
  createRegistry,
  type ResourceDefinition,
} from '../../src/jsonapi/definition/definition.js';
import { columnOf, isText } from '../../src/jsonapi/query/column-values.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import type { Sample, SampleValue } from './sample.js';

export const ACTOR = { name: 'bench', role: 'admin' } as const;

/** The definitions as the engine sees them: their services are not needed to read. */
export const RESOURCES = DEFINITIONS as ResourceDefinition[];

export const READER = { registry: createRegistry(RESOURCES), actor: ACTOR };

/** `search`: a pattern inside a text, which may take longer than other lists. */
export type CaseKind = 'page' | 'sort' | 'filter' | 'search';

/** One list that a client may ask for. */
export interface ListCase {
  kind: CaseKind;
  definition: ResourceDefinition;
  /** As in the URL, before it is encoded. */
  query: [name: string, value: string][];
}

export function nameOf({ definition, query }: ListCase): string {
  const text = query.map(([name, value]) => `${name}=${value}`).join('&');
  return text === '' ? definition.path : `${definition.path}?${text}`;
}

export function pathOf({ definition, query }: ListCase): string {
  return `${definition.path}?${new URLSearchParams(query).toString()}`;
}

/** Every page, sort and filter that the definition offers, with values that its table holds. */
export function listCases(definition: ResourceDefinition, sample: Sample): ListCase[] {
  const make = (kind: CaseKind, query: ListCase['query']) => ({ kind, definition, query });
  const readable = Object.entries(definition.attributes).filter(([, attribute]) => {
    return isReadable(attribute, ACTOR);
  });
  const pages = [
    make('page', []),
    make('page', [['page[size]', '100']]),
    make('page', [['page[after]', '']]),
    make('page', [['page[before]', '']]),
  ];
  if (sample.isEmpty) return pages;
  const sorts = readable.flatMap(([name, { sortable }]) => (sortable ? [name] : []));
  return [
    ...pages,
    ...['-id', ...sorts.flatMap((name) => [name, `-${name}`])].map((sort) => {
      return make('sort', [['sort', sort]]);
    }),
    ...readable.flatMap(([name]) => attributeCases(definition, name, sample)),
    ...Object.keys(definition.relationships).flatMap((name) =>
      (sample.related[name] ?? []).map((id) => make('filter', [[`filter[${name}]`, String(id)]])),
    ),
    ...Object.entries(definition.codes ?? {}).flatMap(([name, { values }]) =>
      values.map((value) => make('filter', [[`filter[${name}]`, value]])),
    ),
    ...Object.entries(sample.namedLinks).flatMap(([name, values]) =>
      values.map((value) => make('filter', [[`filter[${name}]`, value]])),
    ),
  ];
}

function attributeCases(
  definition: ResourceDefinition,
  name: string,
  { values }: Sample,
): ListCase[] {
  const attribute = definition.attributes[name];
  const column = attribute && columnOf(name, attribute);
  if (attribute === undefined || column === undefined) return [];
  const filter = (query: ListCase['query']): ListCase => ({ kind: 'filter', definition, query });
  const rule = (kind: CaseKind, op: string, val: SampleValue): ListCase => {
    return { kind, definition, query: [['filter', JSON.stringify([{ name, op, val }])]] };
  };
  const equal = (value: SampleValue) => filter([[`filter[${name}]`, String(value)]]);
  if (column.kind === 'boolean') return [equal(true), equal(false)];
  if (attribute.values !== undefined) return attribute.values.map(equal);
  const { common, rare, first, last } = values[name] ?? {};
  if (common === undefined || rare === undefined) return [];
  const cases = common === rare ? [equal(common)] : [equal(common), equal(rare)];
  if (isText(column)) {
    const text = String(rare);
    cases.push(rule('filter', 'startswith', text.slice(0, 6)));
    cases.push(rule('search', 'contains', text.slice(-5)));
  } else if (column.kind === 'timestamp' || column.kind === 'integer' || column.kind === 'number') {
    cases.push(rule('filter', 'le', first ?? rare), rule('filter', 'ge', last ?? rare));
  }
  return cases;
}
