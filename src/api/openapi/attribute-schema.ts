import { z } from 'zod';
import type { Attribute } from '../../jsonapi/attributes.js';
import type { Schema } from '../api-route.js';

const FORMATS: Partial<Record<Attribute['kind'], string>> = {
  timestamp: 'date-time',
  uuid: 'uuid',
};
const TYPES: Partial<Record<Attribute['kind'], string>> = {
  text: 'string',
  enum: 'string',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  timestamp: 'string',
  uuid: 'string',
};
const WHEN_WRITTEN: Partial<Record<Attribute['write'], string>> = {
  create: 'Taken on create only.',
  update: 'Taken on update only.',
};
/** What a schema of the validation library tells that is true of JSON, too. */
const LIMITS = [
  'type',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'items',
  'maxItems',
  'minItems',
  'properties',
];

/**
 * An attribute in answers. Limits of length are left out: they bind clients, not what devices
 * report.
 */
export function shownSchema(attribute: Attribute): Schema {
  const { kind, nullable, values, write } = attribute;
  const shape = kind === 'json' ? jsonShape(attribute) : kindShape(attribute);
  return {
    ...orNull(values ? { ...shape, enum: [...values] } : shape, nullable),
    ...(write === 'never' ? { readOnly: true } : {}),
  };
}

/** An attribute in the body of a create or an update, with every limit that is checked. */
export function writtenSchema(attribute: Attribute, defaultValue?: unknown): Schema {
  const { kind, nullable, values, write, writeOnly } = attribute;
  const limits = limitsOf(attribute);
  const shape = kind === 'json' ? limits : { ...limits, ...kindShape(attribute) };
  const description = WHEN_WRITTEN[write];
  return {
    ...orNull(values ? { ...shape, enum: [...values] } : shape, nullable),
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
    ...(writeOnly ? { writeOnly: true } : {}),
    ...(description ? { description } : {}),
  };
}

function kindShape({ kind }: Attribute): Schema {
  const format = FORMATS[kind];
  return { type: TYPES[kind], ...(format ? { format } : {}) };
}

/** `{}`, which is anything, where the attribute is any JSON value. */
function jsonShape(attribute: Attribute): Schema {
  const { type, items } = limitsOf(attribute);
  if (type === 'array') return { type, items: { type: (items as Schema | undefined)?.type } };
  return type === 'object' ? { type, additionalProperties: true } : {};
}

function orNull(shape: Schema, nullable: boolean): Schema {
  if (!nullable || shape.type === undefined) return shape;
  const names = Array.isArray(shape.enum) ? { enum: [...shape.enum, null] } : {};
  return { ...shape, type: [shape.type, 'null'], ...names };
}

const known = new WeakMap<z.ZodType, Schema>();

// Many attributes share a schema, and converting one takes a millisecond.
function limitsOf({ schema }: Attribute): Schema {
  const limits = known.get(schema) ?? readLimits(schema);
  known.set(schema, limits);
  return limits;
}

// Where the value is parsed, its input has the limits; where it is prepared first, its output.
function readLimits(schema: z.ZodType): Schema {
  const input = convert(schema, 'input');
  return 'type' in input ? input : convert(schema, 'output');
}

function convert(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const whole: Schema = { ...z.toJSONSchema(schema, { io, unrepresentable: 'any' }) };
  const told = LIMITS.filter((name) => name in whole && !refersElsewhere(whole[name]));
  const limits = Object.fromEntries(told.map((name) => [name, whole[name]]));
  const isClosed = whole.type === 'object' && whole.additionalProperties === false;
  return isClosed ? { ...limits, additionalProperties: false } : limits;
}

function refersElsewhere(part: unknown): boolean {
  return JSON.stringify(part).includes('"$ref"');
}
