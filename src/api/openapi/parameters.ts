import type { Attribute } from '../../jsonapi/attributes.js';
import {
  type Registry,
  type ResourceDefinition,
  relatedDefinition,
} from '../../jsonapi/definition.js';
import { MAX_IDENTIFIERS } from '../../jsonapi/identifiers.js';
import {
  MAX_INCLUDE_DEPTH,
  MAX_INCLUDE_STEPS,
  MAX_SORT_FIELDS,
} from '../../jsonapi/query/fields.js';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../jsonapi/query/page.js';
import type { Schema } from '../api-route.js';
import { words } from './operation-names.js';
import type { Schemas } from './resource-schemas.js';

export function parameterRef(name: string): Schema {
  return { $ref: `#/components/parameters/${name}` };
}

/** The parameters that mean the same everywhere. */
export function commonParameters(): Schemas {
  return {
    id: {
      name: 'id',
      in: 'path',
      required: true,
      description: 'The id of the resource.',
      schema: { $ref: '#/components/schemas/id' },
    },
    ...pageParameters(),
    ...headerParameters(),
  };
}

const FILTER_RULES =
  'A rule as JSON, such as `{"name":"id","op":"gt","val":100}`: `{"name","op","val"}`, `{"name","op","field"}`, `{"and":[…]}`, `{"or":[…]}` or ' +
  '`{"not":…}`. Repeatable; all must hold. Operators: `eq ne gt ge lt le in_ notin_ like ilike ' +
  'notlike notilike startswith endswith contains between is_ isnot`; `any` and `has` take a rule ' +
  'about related resources. What denies (`ne`, `notin_`, `notlike`, `notilike`, `isnot`, `not`) also ' +
  'holds for rows without a value; `{"name":…,"op":"isnot","val":null}` leaves them out. ' +
  'Versions are compared part by part: `15.7.9` is before `15.7.10`, `15` equals `15.0`. ' +
  '`filter=[…]`, a JSON array of rules, means the same, and `filter[name]=value` that an attribute ' +
  'has this value.';

function query(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'query', description, schema };
}

function pageParameters(): Schemas {
  const size = { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_PAGE_SIZE };
  const cursor = (place: string, end: string) =>
    `A cursor from the links of a page: what comes ${place} it; empty for the ${end} page. Such ` +
    'pages stay in step while rows come and go, and deep ones are as fast as the first.';
  return {
    page_number: query('page[number]', 'The page, counted from 1.', {
      type: 'integer',
      minimum: 1,
      default: 1,
    }),
    page_size: query('page[size]', `How many on a page, at most ${MAX_PAGE_SIZE}.`, size),
    linkage_size: query('page[size]', `How many ids on a page, at most ${MAX_IDENTIFIERS}.`, {
      type: 'integer',
      minimum: 1,
      maximum: MAX_IDENTIFIERS,
      default: MAX_IDENTIFIERS,
    }),
    page_after: query('page[after]', cursor('after', 'first'), { type: 'string' }),
    page_before: query('page[before]', cursor('before', 'last'), { type: 'string' }),
    page_total: query('page[total]', '`exact` counts all that match, however long it takes.', {
      type: 'string',
      enum: ['exact'],
    }),
  };
}

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'header', description, schema };
}

function headerParameters(): Schemas {
  return {
    request_id: header('X-Request-Id', 'Named in the answer, in errors and in the audit trail.', {
      type: 'string',
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
    }),
    idempotency_key: header(
      'Idempotency-Key',
      'Repeated within 24 hours with the same body, it gives the first answer again and changes ' +
        'nothing; with another body it is refused. Only successes are kept: after an error the same ' +
        'key may be sent again, with another body too.',
      { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    ),
    if_match: header('If-Match', 'Only while this is still the `ETag` of the resource, else 412.', {
      type: 'string',
    }),
    if_none_match: header('If-None-Match', 'The `ETag` known: 304 while nothing has changed.', {
      type: 'string',
    }),
  };
}

/** The parameters of each type: `sort`, `filter[]`, `include` and `fields[…]`. */
export function resourceParameters(definition: ResourceDefinition, registry: Registry): Schemas {
  const { type } = definition;
  const include = includeParameter(definition, registry);
  return {
    [`${type}_sort`]: sortParameter(definition),
    [`${type}_filter`]: filterParameter(definition),
    [`${type}_fields`]: fieldsParameter(definition),
    ...(include ? { [`${type}_include`]: include } : {}),
    ...flagParameters(definition),
  };
}

function flagParameters({ type, writeFlags, deleteFlags }: ResourceDefinition): Schemas {
  return { ...flagsBelow(type, writeFlags), ...flagsBelow(`${type}_delete`, deleteFlags) };
}

function flagsBelow(prefix: string, flags: Record<string, string> = {}): Schemas {
  const schema = { type: 'boolean', default: false };
  const entries = Object.entries(flags).map(([name, description]) => [
    `${prefix}_${name}`,
    query(name, description, schema),
  ]);
  return Object.fromEntries(entries);
}

interface CommaList {
  name: string;
  description: string;
  names: string[];
  maxItems?: number;
}

function commaList({ name, description, names, ...limit }: CommaList): Schema {
  const schema = { type: 'array', items: { type: 'string', enum: names }, ...limit };
  return { ...query(name, description, schema), style: 'form', explode: false };
}

function namesOf(
  attributes: Record<string, Attribute>,
  test: (attribute: Attribute) => boolean,
): string[] {
  return Object.entries(attributes).flatMap(([name, attribute]) => (test(attribute) ? [name] : []));
}

function sortParameter({ attributes }: ResourceDefinition): Schema {
  const sortable = ['id', ...namesOf(attributes, (attribute) => attribute.sortable)];
  return commaList({
    name: 'sort',
    description:
      'Separated by commas; `-` in front descends. What has no value comes last in both directions. ' +
      'The id breaks ties.',
    names: sortable.flatMap((name) => [name, `-${name}`]),
    maxItems: MAX_SORT_FIELDS,
  });
}

/** One parameter: generators take `filter` and `filter[]` for the same name. */
function filterParameter({ attributes }: ResourceDefinition): Schema {
  const filterable = ['id', ...namesOf(attributes, (attribute) => attribute.filterable)];
  const names = filterable.map((name) => `\`${name}\``).join(', ');
  const rule = {
    type: 'string',
    contentMediaType: 'application/json',
    contentSchema: { $ref: '#/components/schemas/filter_rule' },
  };
  const description = `${FILTER_RULES} Names: ${names}, and those of related resources.`;
  const schema = { type: 'array', items: rule };
  return { ...query('filter[]', description, schema), style: 'form', explode: true };
}

function fieldsParameter({ type, attributes, relationships }: ResourceDefinition): Schema {
  const visible = namesOf(attributes, ({ writeOnly }) => writeOnly !== true);
  return commaList({
    name: `fields[${type}]`,
    description: `Only these fields of ${words(type)}.`,
    names: [...visible, ...Object.keys(relationships)],
  });
}

function includeParameter(definition: ResourceDefinition, registry: Registry): Schema | undefined {
  const names = includePaths(definition, registry);
  if (names.length === 0) return undefined;
  return commaList({
    name: 'include',
    description:
      `Related resources to send along: paths of at most ${MAX_INCLUDE_DEPTH} relationships, ` +
      `${MAX_INCLUDE_STEPS} relationships in all. Those that the role may not read are refused.`,
    names,
  });
}

function includePaths(definition: ResourceDefinition, registry: Registry): string[] {
  return [...walk(definition, registry, 1)].map(([path]) => path);
}

/** The types that documents of this one may include, itself first. */
export function reachableTypes(definition: ResourceDefinition, registry: Registry): string[] {
  const reached = [...walk(definition, registry, 1)].map(([, type]) => type);
  return [...new Set([definition.type, ...reached])];
}

function* walk(
  { relationships }: ResourceDefinition,
  registry: Registry,
  depth: number,
): Generator<[path: string, type: string]> {
  for (const [name, relation] of Object.entries(relationships)) {
    yield [name, relation.type];
    if (depth === MAX_INCLUDE_DEPTH) continue;
    const beyond = walk(relatedDefinition(registry, relation), registry, depth + 1);
    for (const [path, type] of beyond) yield [`${name}.${path}`, type];
  }
}
