import { z } from 'zod';
import type { Attribute } from '../../../jsonapi/definition/attributes.js';
import type { Schema } from '../../api-route.js';

const WHEN_WRITTEN: Partial<Record<Attribute['write'], string>> = {
  create: 'On create only.',
  update: 'On update only.',
};
/** What a schema of the validation library says that is true of JSON, too. */
const LIMITS = [
  'type',
  'enum',
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
  const { kind, nullable, values, readRole } = attribute;
  const shape = kind === 'json' ? jsonShape(attribute) : withoutLimits(attribute);
  const shown = orNull(values ? { ...shape, enum: [...values] } : shape, nullable);
  const notes = [shown.description, readRole && `Shown to the role ${readRole} only.`];
  const description = notes.filter((part) => part !== undefined).join(' ');
  return { ...shown, description: description || undefined };
}

/** An attribute in the body of a create or an update, with every limit that is checked. */
export function writtenSchema(attribute: Attribute, onCreate?: unknown): Schema {
  const { nullable, write, writeOnly } = attribute;
  const values = attribute.accepts ?? attribute.values;
  const limits = limitsOf(attribute);
  const given = orNull(values ? { ...limits, enum: [...values] } : limits, nullable);
  const byDefault = onCreate === undefined ? undefined : `Default: ${JSON.stringify(onCreate)}.`;
  const notes = [given.description, WHEN_WRITTEN[write], byDefault];
  const description = notes.filter((part) => part !== undefined).join(' ');
  return { ...given, writeOnly: writeOnly || undefined, description: description || undefined };
}

function withoutLimits(attribute: Attribute): Schema {
  const { type, format, enum: values } = limitsOf(attribute);
  // The format and values of a text are limits: devices and Apple report others.
  return attribute.kind === 'text' ? { type } : { type, format, enum: values };
}

/** `{}`, which is anything, where the attribute is any JSON value. */
function jsonShape(attribute: Attribute): Schema {
  const { type, items } = limitsOf(attribute);
  if (type === 'array') return { type, items: { type: (items as Schema | undefined)?.type } };
  return type === 'object' ? { type, additionalProperties: true } : {};
}

function orNull(shape: Schema, nullable: boolean): Schema {
  if (!nullable || shape.type === undefined) return shape;
  if (shape.type === 'object') return objectOrNull(shape);
  const names = Array.isArray(shape.enum) ? { enum: [...shape.enum, null] } : {};
  return { ...shape, type: [shape.type, 'null'], ...names };
}

/** Any JSON value, in words: generators stumble over the types `object` and `null` together. */
function objectOrNull({ properties }: Schema): Schema {
  const names = Object.keys(properties ?? {}).map((name) => `\`${name}\``);
  const members = names.length > 0 ? ` of ${names.join(', ')}` : '';
  return { description: `An object${members}, or null.` };
}

const known = new WeakMap<z.ZodType, Schema>();

// Many attributes share a schema, and each conversion costs a millisecond.
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
  const stated = LIMITS.filter((name) => name in whole && !refersElsewhere(whole[name]));
  const limits = Object.fromEntries(stated.map((name) => [name, whole[name]]));
  const isClosed = whole.type === 'object' && whole.additionalProperties === false;
  return isClosed ? { ...limits, additionalProperties: false } : limits;
}

function refersElsewhere(part: unknown): boolean {
  return JSON.stringify(part).includes('"$ref"');
}
