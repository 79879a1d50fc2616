import { z } from 'zod';
import { type ErrorDetail, validationError } from '../errors.js';
import { pointer } from '../jsonapi/requests/pointers.js';
import { type ApiContent, jsonContent, type Schema } from './api-route.js';
import { type CheckedBody, checkBody } from './request-parts.js';

/** The body of an action: attributes, alone or in a JSON:API document. */
export interface ActionBody<T> {
  attributes: z.ZodType<T>;
  /** Required `type` of the document; without it, the type is not checked. */
  type?: string;
  /** The request must have a body. */
  isRequired?: boolean;
  /** A document must have attributes, and a body must not be null. */
  needsAttributes?: boolean;
  /** Relationships of a document that are read as the attributes of the same names. */
  relationships?: readonly string[];
  /** Attributes. */
  example: unknown;
}

export interface ReadBody<T> {
  value: T;
  /** The attributes were sent alone. */
  isFlat: boolean;
}

const ANY_DOCUMENT = z.object({
  data: z.object({ attributes: z.unknown().optional(), relationships: z.unknown().optional() }),
});
const RELATIONSHIPS = z.record(z.string(), z.object({ data: z.unknown() }));
const OBJECT = z.record(z.string(), z.unknown()).optional();

/** AppError 422 with every fault, and its pointer into what was sent. */
export function readBody<T>(declared: ActionBody<T> | undefined, body: unknown): ReadBody<T> {
  if (declared === undefined) return { value: undefined as T, isFlat: false };
  const { attributes, type, needsAttributes } = declared;
  if (body === undefined) return { value: accepted(checkBody(attributes, {})), isFlat: false };
  const orEmpty = (given: unknown) => (needsAttributes ? given : (given ?? {}));
  const document = ANY_DOCUMENT.safeParse(body).data;
  const isFlat = type === undefined ? document === undefined : !hasData(body);
  if (isFlat) return { value: accepted(checkBody(attributes, orEmpty(body))), isFlat };
  const faults = type === undefined ? strayMembers(body) : documentFaults(type, body);
  if (document === undefined) throw validationError(faults);
  const linked = linkedMembers(document.data, declared.relationships);
  const own = document.data.attributes;
  const given = linked.names.length === 0 ? own : { ...(own as object), ...linked.members };
  const { value, faults: ofMembers } = checkBody(attributes, orEmpty(given), '/data/attributes');
  const placed = ofMembers.map((fault) => placedFault(fault, linked.names));
  return { value: accepted({ value, faults: placed }, [...faults, ...linked.faults]), isFlat };
}

const TOP_LEVEL = ['data', 'meta', 'links', 'jsonapi', 'included'];

/** Members of the short form beside `data` would not be read. */
function strayMembers(body: unknown): ErrorDetail[] {
  return Object.keys(body as object)
    .filter((name) => !TOP_LEVEL.includes(name))
    .map((name) => ({
      detail: `"${name}" stands beside data: put it into data.attributes, or leave data out`,
      source: { pointer: pointer(name) },
    }));
}

interface LinkedMembers {
  /** The `data` of each relationship. */
  members: Record<string, unknown>;
  names: string[];
  faults: ErrorDetail[];
}

/** The relationships that are read as attributes, where the attributes are an object. */
function linkedMembers(
  { attributes, relationships }: z.infer<typeof ANY_DOCUMENT>['data'],
  known: readonly string[] | undefined,
): LinkedMembers {
  const none = { members: {}, names: [], faults: [] };
  if (known === undefined || relationships === undefined) return none;
  if (!OBJECT.safeParse(attributes).success) return none;
  const { value, faults } = checkBody(RELATIONSHIPS, relationships, '/data/relationships');
  if (value === undefined || faults.length > 0) return { ...none, faults };
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  const names = Object.keys(value).filter((name) => known.includes(name));
  return {
    members: Object.fromEntries(names.map((name) => [name, value[name]?.data])),
    names,
    faults: unknown.map((name) => ({
      detail: `relationships has no member "${name}"; known: ${known.join(', ')}`,
      source: { pointer: `/data/relationships${pointer(name)}` },
    })),
  };
}

/** With the pointer to where the member was sent. */
function placedFault(fault: ErrorDetail, linked: readonly string[]): ErrorDetail {
  const given = fault.source?.pointer ?? '';
  const [, name = '', rest = ''] = /^\/data\/attributes\/([^/]+)(.*)$/.exec(given) ?? [];
  if (!linked.includes(name)) return fault;
  return { ...fault, source: { pointer: `/data/relationships/${name}/data${rest}` } };
}

/** AppError 422 with the faults of the document and of the attributes. */
function accepted<T>({ value, faults }: CheckedBody<T>, ofDocument: ErrorDetail[] = []): T {
  const all = [...ofDocument, ...faults];
  if (all.length > 0) throw validationError(all);
  return value as T;
}

function hasData(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'data' in body;
}

function documentFaults(type: string, body: unknown): ErrorDetail[] {
  return checkBody(documentSchema(type, z.unknown()), body).faults;
}

function documentSchema(type: string, attributes: z.ZodType) {
  return z.object({
    data: z.object({ type: z.literal(type), attributes: attributes.optional() }),
  });
}

/** How the API document describes the body, under both media types. */
export function bodyContent<T>({
  attributes,
  type,
  needsAttributes,
  example,
}: ActionBody<T>): ApiContent[] {
  const inDocument = needsAttributes ? attributes : attributes.optional();
  const document =
    type === undefined
      ? z.object({ data: z.object({ attributes: inDocument }) })
      : documentSchema(type, attributes);
  return jsonContent({ anyOf: [toSchema(attributes), toSchema(document)] }, example);
}

/**
 * JSON Schema of what `schema` reads. `.meta({ ref: NAME })` stands for a schema of the API
 * document's components.
 */
export function toSchema(schema: z.ZodType): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema.propertyNames;
      // The pattern of a date-time repeats its format.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (typeof jsonSchema.ref === 'string') {
        const $ref = `#/components/schemas/${jsonSchema.ref}`;
        for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
        jsonSchema.$ref = $ref;
      }
      // What every JSON number that is exact keeps to.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return rest;
}
