import type { Attribute } from '../../../jsonapi/definition/attributes.js';
import {
  createFlagsOf,
  type Registry,
  type ResourceDefinition,
  relatedDefinition,
} from '../../../jsonapi/definition/definition.js';
import { MAX_IDENTIFIERS } from '../../../jsonapi/definition/identifiers.js';
import { MAX_LINKAGE_PAGE } from '../../../jsonapi/operations/linkage.js';
import {
  MAX_INCLUDE_DEPTH,
  MAX_INCLUDE_STEPS,
  MAX_SORT_FIELDS,
} from '../../../jsonapi/query/fields.js';
import { MAX_RULES } from '../../../jsonapi/query/filter.js';
import {
  DEFAULT_PAGE_SIZE,
  MAX_PAGE_NUMBER,
  MAX_PAGE_SIZE,
} from '../../../jsonapi/query/parameters.js';
import type { Schema } from '../../api-route.js';
import type { Schemas } from '../schemas/resource-schemas.js';

/** What If-Match accepts: `*`, or entity tags with commas between them (RFC 9110 §13.1.1). */
const ENTITY_TAGS = '^(\\*|(W/)?"[!#-~]*"([ \\t]*,[ \\t]*(W/)?"[!#-~]*")*)$';

export function parameterRef(name: string): Schema {
  return { $ref: `#/components/parameters/${name}` };
}

/** The parameters that mean the same everywhere. */
export function commonParameters(registry: Registry): Schemas {
  return {
    id: {
      name: 'id',
      in: 'path',
      required: true,
      description: 'The id of the resource.',
      schema: { $ref: '#/components/schemas/id' },
    },
    page: pageParameter(),
    linkage_page: linkagePageParameter(),
    filter: filterParameter(),
    fields: fieldsParameter(registry),
    ...headerParameters(),
  };
}

function query(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'query', description, schema };
}

/** `name[member]=value`: one parameter, since an operation would otherwise list one for each type. */
function members(name: string, description: string, schema: Schema): Schema {
  return { ...query(name, description, schema), style: 'deepObject', explode: true };
}

function range(maximum: number, byDefault: number): Schema {
  return { type: 'integer', minimum: 1, maximum, default: byDefault };
}

/** A page by its number, or by a cursor in one of two directions. */
function pageParameter(): Schema {
  const size = { ...range(MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE), description: 'Resources on a page.' };
  const total = {
    type: 'string',
    enum: ['exact', 'none'],
    description: 'Counts all that match, however long it takes; or not at all, for rows at once.',
  };
  const closed = (properties: Schemas) => ({
    type: 'object',
    properties: { ...properties, size, total },
    additionalProperties: false,
  });
  const cursor = { type: 'string', maxLength: MAX_CURSOR };
  return members(
    'page',
    '`page[number]`, or a cursor from the links of a page: `page[after]` or `page[before]`, empty for ' +
      'the first and the last page. Cursors stay valid while rows are added and removed, and deep ' +
      'pages are as fast as the first.',
    {
      anyOf: [
        closed({ number: range(MAX_PAGE_NUMBER, 1) }),
        { ...closed({ after: cursor }), required: ['after'] },
        { ...closed({ before: cursor }), required: ['before'] },
      ],
    },
  );
}

/** Fits the cursors in links to pages: 10 sort fields with values of up to 500 characters each. */
const MAX_CURSOR = 32_000;

function linkagePageParameter(): Schema {
  return members('page', 'A page of ids.', {
    type: 'object',
    properties: {
      number: range(MAX_LINKAGE_PAGE, 1),
      size: range(MAX_IDENTIFIERS, MAX_IDENTIFIERS),
    },
    additionalProperties: false,
  });
}

function fieldsParameter(registry: Registry): Schema {
  const properties = [...registry.values()].map(
    ({ type, attributes, relationships, unions = {} }) => {
      const visible = namesOf(attributes, ({ writeOnly }) => writeOnly !== true);
      const names = [...visible, ...Object.keys(relationships), ...Object.keys(unions)].join('|');
      return [type, { type: 'string', pattern: `^((${names})(,(?=.)|$))*$` }];
    },
  );
  return members(
    'fields',
    '`fields[type]=a,b`: only these attributes and relationships of a type, wherever it is in the document.',
    { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false },
  );
}

function header(name: string, description: string, schema: Schema): Schema {
  return { name, in: 'header', description, schema };
}

function headerParameters(): Schemas {
  return {
    idempotency_key: header(
      'Idempotency-Key',
      'Repeated within 24 hours with the same body, it returns the first answer again and changes ' +
        'nothing; with another body it is refused. Only successes are kept: after an error the same ' +
        'key may be sent again, with another body too.',
      { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    ),
    if_match: header('If-Match', 'Only while this is still the `ETag` of the resource, else 412.', {
      type: 'string',
      pattern: ENTITY_TAGS,
      maxLength: 8_000,
    }),
    if_none_match: header('If-None-Match', 'The `ETag` known: 304 while nothing has changed.', {
      type: 'string',
    }),
  };
}

/** The parameters of each type: `sort` and `include`. */
export function resourceParameters(definition: ResourceDefinition, registry: Registry): Schemas {
  const { type } = definition;
  const include = includeParameter(definition, registry);
  const parameters: Schemas = { [`${type}_sort`]: sortParameter(definition) };
  if (include) parameters[includeName(definition)] = include;
  return { ...parameters, ...flagParameters(definition) };
}

/** One for all types that are related to their device only: the names below it are most of the pattern. */
export function includeName({ type, relationships, unions = {} }: ResourceDefinition): string {
  const names = Object.keys({ ...relationships, ...unions });
  const isOfDevice = names.length === 1 && relationships.device?.type === 'devices';
  return isOfDevice ? 'device_include' : `${type}_include`;
}

function flagParameters(definition: ResourceDefinition): Schemas {
  const { type, deleteFlags } = definition;
  const written = flagsBelow(type, createFlagsOf(definition));
  return { ...written, ...flagsBelow(`${type}_delete`, deleteFlags) };
}

function flagsBelow(prefix: string, flags: Record<string, string> = {}): Schemas {
  const schema = { type: 'boolean', default: false };
  const entries = Object.entries(flags).map(([name, description]) => [
    `${prefix}_${name}`,
    query(name, description, schema),
  ]);
  return Object.fromEntries(entries);
}

/** A list with commas. `pattern` is of one name. */
function commaList(name: string, description: string, pattern: string, maxItems: number): Schema {
  const schema = { type: 'array', items: { type: 'string', pattern }, maxItems };
  return { ...query(name, description, schema), style: 'form', explode: false };
}

function namesOf(
  attributes: Record<string, Attribute>,
  test: (attribute: Attribute) => boolean,
): string[] {
  return Object.entries(attributes).flatMap(([name, attribute]) => (test(attribute) ? [name] : []));
}

/** Sort fields of related types are listed under that type; repeating them would double the document. */
function sortParameter({ attributes, relationships }: ResourceDefinition): Schema {
  const related = Object.keys(relationships).filter(
    (name) => relationships[name]?.kind === 'toOne',
  );
  const either = related.length > 1 ? `(${related.join('|')})` : related.join('');
  const sortable = [
    'id',
    ...namesOf(attributes, (attribute) => attribute.sortable),
    ...(either === '' ? [] : [`${either}\\.\\w+`]),
  ];
  return commaList('sort', '`-`: descending.', `^-?(${sortable.join('|')})$`, MAX_SORT_FIELDS);
}

/** One parameter: generators treat `filter` and `filter[]` as the same name. */
function filterParameter(): Schema {
  const rule = {
    type: 'string',
    minLength: 2,
    pattern: '^[{[].*[}\\]]$',
    contentMediaType: 'application/json',
    contentSchema: { $ref: '#/components/schemas/filter_rule' },
  };
  const description = 'A rule as JSON, repeatable. Attributes: those of `sort`.';
  const schema = { type: 'array', items: rule, maxItems: MAX_RULES };
  return { ...query('filter[]', description, schema), style: 'form', explode: true };
}

function includeParameter(definition: ResourceDefinition, registry: Registry): Schema | undefined {
  const names = includePaths(definition, registry);
  if (names.length === 0) return undefined;
  return commaList(
    'include',
    `Related resources, up to ${MAX_INCLUDE_DEPTH} steps away.`,
    `^(${names.join('|')})$`,
    MAX_INCLUDES,
  );
}

/** As many as never are too many relationships: each path has two at most. */
const MAX_INCLUDES = MAX_INCLUDE_STEPS / 2;

/** Patterns of one and two steps; those of three would be most of the document. */
function includePaths(
  { relationships, unions = {} }: ResourceDefinition,
  registry: Registry,
): string[] {
  const paths = Object.entries(relationships).map(([name, relation]) => {
    const next = Object.keys(relatedDefinition(registry, relation).relationships);
    return next.length > 0 ? `${name}(\\.(${next.join('|')}))?` : name;
  });
  return [...paths, ...Object.keys(unions)];
}
