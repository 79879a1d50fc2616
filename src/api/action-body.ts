import { z } from 'zod';
import { type ApiContent, jsonContent, type Schema } from './api-route.js';
import { parseBody } from './request-parts.js';

/** The body of an action: attributes, alone or in a JSON:API document. */
export interface ActionBody<T> {
  attributes: z.ZodType<T>;
  /** Of the document, whose `type` is then checked; without it any document is read. */
  type?: string;
  /** The request must have a body. */
  isRequired?: boolean;
  /** A document must have attributes, and a body must not be null. */
  needsAttributes?: boolean;
  /** Attributes. */
  example: unknown;
}

export interface ReadBody<T> {
  value: T;
  /** The attributes were sent alone. */
  isFlat: boolean;
}

const ANY_DOCUMENT = z.object({ data: z.object({ attributes: z.unknown() }) });

/** AppError 422 with every fault, and its pointer into what was sent. */
export function readBody<T>(declared: ActionBody<T> | undefined, body: unknown): ReadBody<T> {
  if (declared === undefined) return { value: undefined as T, isFlat: false };
  const { attributes, needsAttributes } = declared;
  if (body === undefined) return { value: parseBody(attributes, {}), isFlat: false };
  const document = documentIn(body, declared.type);
  const given = document === undefined ? body : document.data.attributes;
  const prefix = document === undefined ? '' : '/data/attributes';
  const value = parseBody(attributes, needsAttributes ? given : (given ?? {}), prefix);
  return { value, isFlat: document === undefined };
}

function documentIn(body: unknown, type: string | undefined) {
  if (type === undefined) return ANY_DOCUMENT.safeParse(body).data;
  const isFlat = !(typeof body === 'object' && body !== null && 'data' in body);
  return isFlat ? undefined : parseBody(documentSchema(type, z.unknown()), body);
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
