import type { Registry } from '../../../jsonapi/definition/definition.js';
import {
  COMPARISONS,
  IDENTITIES,
  PATTERNS,
  SETS,
  TEXT_PARTS,
} from '../../../jsonapi/query/filter-node.js';
import type { Schema } from '../../api-route.js';
import { narrowed, refTo, type Schemas } from './resource-schemas.js';

const OPERATORS = [
  ...COMPARISONS,
  ...SETS,
  ...PATTERNS,
  ...TEXT_PARTS,
  'between',
  ...IDENTITIES,
  'any',
  'has',
];

const FILTER_RULES =
  'At most 50 rules, nested at most 5 deep; all of a request must hold. `any` (to-many) and `has` ' +
  '(to-one) contain a rule about related resources; a to-one relationship is also compared by id: ' +
  '`eq`, `ne`, `in`, `notin`, `is`, `isnot`. What negates (`ne`, `notin`, `notlike`, `notilike`, `isnot`, ' +
  '`not`) also holds for rows without a value; `{"name":…,"op":"isnot","val":null}` leaves them out. ' +
  'Versions are compared part by part: `15.7.9` is before `15.7.10`, `15` equals `15.0`. ' +
  '`filter=…`, a rule or an array of rules, means the same. `filter[name]=value` is short for `eq`; ' +
  'for an enum, a whole number, a UUID or a relationship by id the value may be a list: ' +
  '`filter[status]=Queued,NotNow`, `filter[device]=1,2`.';

function members(properties: Schemas, required: string[] = Object.keys(properties)): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

const PATH = { type: 'string', description: 'A path on this server.' };
const PATH_OR_NONE = { type: ['string', 'null'], description: 'null where there is none.' };

const PAGING = { first: PATH_OR_NONE, prev: PATH_OR_NONE, next: PATH_OR_NONE, last: PATH_OR_NONE };

/** What the documents of all types have in common. */
export function commonSchemas(registry: Registry): Schemas {
  const types = [...registry.keys()];
  return {
    id: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [7] },
    given_id: {
      anyOf: [
        { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        { type: 'string', pattern: '^[1-9][0-9]{0,14}$' },
      ],
      description: 'A number, or a string of digits.',
    },
    jsonapi: members({ version: { type: 'string', enum: ['1.0'] } }),
    meta: {
      type: 'object',
      description: 'Further information.',
      additionalProperties: true,
    },
    count_meta: {
      type: 'object',
      properties: {
        count: { type: 'integer', minimum: 0, description: 'How many `data` holds.' },
        total: {
          type: 'integer',
          minimum: 0,
          description: 'How many match; not with `page[total]=none`.',
        },
        total_is_estimate: {
          type: 'boolean',
          description: 'True where `total` was not counted; `page[total]=exact` counts.',
        },
      },
      required: ['count'],
      additionalProperties: true,
    },
    resource_links: members({ self: PATH }),
    page_links: members({ self: PATH, ...PAGING }, ['self']),
    relationship_links: members({ self: PATH, related: PATH }, ['self']),
    linkage_links: members({ self: PATH, related: PATH, ...PAGING }, ['self']),
    included: { type: 'array', items: refTo('any_resource') },
    relationship: {
      ...members({ links: refTo('relationship_links'), data: {} }, ['links']),
      description: 'Many `data` only where they are included.',
    },
    document: members(
      {
        data: {},
        included: refTo('included'),
        links: refTo('resource_links'),
        meta: refTo('meta'),
        jsonapi: refTo('jsonapi'),
      },
      ['data', 'links', 'jsonapi'],
    ),
    list: members(
      {
        data: {},
        included: refTo('included'),
        links: refTo('page_links'),
        meta: refTo('count_meta'),
        jsonapi: refTo('jsonapi'),
      },
      ['data', 'links', 'meta', 'jsonapi'],
    ),
    linkage: members(
      {
        data: {},
        links: refTo('linkage_links'),
        meta: refTo('count_meta'),
        jsonapi: refTo('jsonapi'),
      },
      ['data', 'links', 'jsonapi'],
    ),
    resource: resource(),
    any_resource: {
      ...narrowed('resource', { type: { type: 'string', enum: types } }),
      description: 'A resource of any type, as the schema of its own type describes it.',
    },
    ...filterSchemas(),
  };
}

/** What all types have in common, not a choice of all types: client generators cannot use so long a choice. */
function resource(): Schema {
  const properties = {
    type: { type: 'string' },
    id: refTo('id'),
    attributes: { type: 'object', additionalProperties: true },
    relationships: { type: 'object', additionalProperties: true },
    links: refTo('resource_links'),
  };
  return members(properties, ['type', 'id', 'attributes', 'links']);
}

function filterSchemas(): Schemas {
  const rule = refTo('filter_rule');
  const rules = { type: 'array', items: rule, minItems: 1 };
  const leaf = {
    type: 'object',
    properties: {
      name: {
        type: 'string',
        description:
          'An attribute, `id`, a relationship, or `relationship__attribute`; of devices also `search` ' +
          'with `contains`, and `findings` of the diagnosis with `eq` or `in`.',
      },
      op: { type: 'string', enum: OPERATORS },
      val: {
        description:
          'The value; an array for `in`, `notin` and `between`; of `any` and `has` a rule about the ' +
          'related resource.',
      },
      field: { type: 'string', description: 'Another attribute, in place of `val`.' },
    },
    required: ['name', 'op'],
    additionalProperties: false,
  };
  return {
    filter_rule: {
      description: FILTER_RULES,
      anyOf: [leaf, members({ and: rules }), members({ or: rules }), members({ not: rule })],
    },
  };
}
