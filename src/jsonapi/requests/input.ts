import { AppError, type ErrorDetail, knownNames, validationError } from '../../errors.js';
import type { Attribute } from '../definition/attributes.js';
import { member, type ResourceDefinition, type WriteInput } from '../definition/definition.js';
import { readIdentifier, readIdentifiers } from '../definition/identifiers.js';
import { type UnionPart, unionParts } from '../definition/unions.js';
import { parseId } from '../definition/values.js';
import { pointer } from './pointers.js';
import { notWritten, type Repeated } from './repeated-links.js';
import { validationMessage } from './validation-message.js';

const MAX_HINTS = 10;

type Json = Record<string, unknown>;
export type WriteMode = 'create' | 'update';

/** The input of a document, and every fault in it. With faults the input is incomplete. */
export interface Parsed {
  input: WriteInput;
  /** Relationships that can't be written in it: allowed if they repeat the present linkage. */
  repeated: Repeated;
  faults: ErrorDetail[];
}

/** The state of reading a document. */
interface Reading extends Parsed {
  /** The pointer of the linkage, where it is that of a union. */
  at?: string | undefined;
  definition: ResourceDefinition;
  mode: WriteMode;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function invalidDocument(at: string, message: string): AppError {
  return new AppError('invalid_document', 422, message, { source: { pointer: at } });
}

/** The `data` of a request document. AppError 422 if the body is not a document. */
export function dataOf(body: unknown): unknown {
  if (!isObject(body)) throw invalidDocument('', 'the body must be a JSON:API document');
  if (!Object.hasOwn(body, 'data')) throw invalidDocument('/data', 'the document has no "data"');
  return body.data;
}

function resourceOf(body: unknown, definition: ResourceDefinition): Json {
  const data = dataOf(body);
  if (!isObject(data)) throw invalidDocument('/data', '"data" must be one resource object');
  if (typeof data.type !== 'string') throw invalidDocument('/data/type', '"type" is missing');
  if (data.type === definition.type) return data;
  const message = `the type here is "${definition.type}"`;
  throw new AppError('wrong_type', 409, message, { source: { pointer: '/data/type' } });
}

/** The values that a collection's path fixes for resources created there. */
export interface FixedByPath {
  attributes: Record<string, unknown>;
  toOne: Record<string, number>;
}

const NOTHING_FIXED: FixedByPath = { attributes: {}, toOne: {} };

/**
 * The document of a create. AppError 422 if it has no resource, 409 for another type or another value
 * than the path's, 403 for a client-generated id.
 */
export function parseCreate(
  body: unknown,
  definition: ResourceDefinition,
  fixed: FixedByPath = NOTHING_FIXED,
): Parsed {
  const data = resourceOf(body, definition);
  if (data.id !== undefined && data.id !== null) {
    const source = { pointer: '/data/id' };
    throw new AppError('forbidden', 403, 'the server chooses the id', { source });
  }
  const reading = startReading('create', definition);
  const { input, faults, repeated } = readAll(reading, data);
  requireAll(reading, fixed);
  requireEqual('attributes', input.attributes, fixed.attributes);
  requireEqual('relationships', input.toOne, fixed.toOne);
  input.attributes = { ...definition.defaults, ...input.attributes, ...fixed.attributes };
  input.toOne = { ...input.toOne, ...fixed.toOne };
  return { input, faults, repeated };
}

function requireEqual(
  place: 'attributes' | 'relationships',
  given: Record<string, unknown>,
  fixed: Record<string, unknown>,
): void {
  for (const [name, value] of Object.entries(fixed)) {
    if (!Object.hasOwn(given, name) || given[name] === value) continue;
    const steps = place === 'attributes' ? [name] : [name, 'data', 'id'];
    const source = { pointer: pointer('data', place, ...steps) };
    throw new AppError('conflict', 409, `the path is that of ${String(value)}`, { source });
  }
}

/** The document of an update: absent members stay. AppError as parseCreate, 409 for another id. */
export function readUpdate(
  body: unknown,
  { definition, id }: { definition: ResourceDefinition; id: number },
): Parsed {
  const data = resourceOf(body, definition);
  if (data.id !== undefined && parseId(data.id) !== id) {
    const source = { pointer: '/data/id' };
    throw new AppError('conflict', 409, `the path is that of ${id}`, { source });
  }
  return readAll(startReading('update', definition), data);
}

/** As readUpdate, for a type whose relationships need no check in the database. */
export function parseUpdate(
  body: unknown,
  target: { definition: ResourceDefinition; id: number },
): WriteInput {
  const { input, faults } = readUpdate(body, target);
  if (faults.length > 0) throw validationError(faults);
  return input;
}

function startReading(mode: WriteMode, definition: ResourceDefinition): Reading {
  const input: WriteInput = { attributes: {}, toOne: {}, toMany: {} };
  return { definition, mode, faults: [], input, repeated: { toOne: {}, toMany: {} } };
}

function readAll(reading: Reading, { attributes = {}, relationships = {} }: Json): Reading {
  for (const [name, value] of membersOf(attributes, 'attributes', reading)) {
    readAttribute(name, value, reading);
  }
  for (const [name, value] of membersOf(relationships, 'relationships', reading)) {
    readRelationship(name, value, reading);
  }
  return reading;
}

function membersOf(value: unknown, name: string, { faults }: Reading): [string, unknown][] {
  if (isObject(value)) return Object.entries(value);
  faults.push({ detail: `"${name}" must be an object`, source: { pointer: `/data/${name}` } });
  return [];
}

function readAttribute(name: string, value: unknown, reading: Reading): void {
  const { definition, mode, faults, input } = reading;
  const source = { pointer: pointer('data', 'attributes', name) };
  const attribute = member(definition.attributes, name);
  if (attribute === undefined && isUnloaded(value) && member(definition.relationships, name))
    return;
  if (attribute === undefined) {
    const known = hintOf(name, Object.keys(definition.attributes), faults);
    faults.push({ detail: `${definition.type} has no attribute "${name}"${known}`, source });
    return;
  }
  if (attribute.write !== 'always' && attribute.write !== mode) {
    keepUnwritable(name, value, { attribute, input });
    return;
  }
  if (value !== null) {
    input.attributes[name] = readValue(name, value, { attribute, faults });
    return;
  }
  input.attributes[name] = null;
  if (!attribute.nullable) faults.push({ detail: `${name} must not be null`, source });
}

/** Only beside the first faults: a body can have thousands of unknown names. */
function hintOf(name: string, names: string[], faults: ErrorDetail[]): string {
  return faults.length < MAX_HINTS ? `; ${knownNames(name, names)}` : '';
}

function keepUnwritable(
  name: string,
  value: unknown,
  { attribute, input }: { attribute: Attribute; input: WriteInput },
): void {
  const parsed = value === null ? { data: null } : attribute.schema.safeParse(value);
  if (parsed.data === undefined) return;
  input.unwritable = { ...input.unwritable, [name]: parsed.data };
}

/** A relationship without linkage. Clients that flatten documents send it back as an attribute. */
function isUnloaded(value: unknown): boolean {
  return isObject(value) && isObject(value.links) && !Object.hasOwn(value, 'data');
}

function readValue(
  name: string,
  value: unknown,
  { attribute, faults }: { attribute: Attribute; faults: ErrorDetail[] },
): unknown {
  const result = attribute.schema.safeParse(value, { error: validationMessage });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const at = pointer('data', 'attributes', name, ...issue.path.map(String));
    const named = [name, ...issue.path].join('.');
    faults.push({ detail: `${named} ${issue.message}`, source: { pointer: at } });
  }
  return undefined;
}

function readRelationship(name: string, value: unknown, reading: Reading): void {
  const { definition, faults } = reading;
  const at = pointer('data', 'relationships', name);
  const parts = unionParts(definition, name);
  if (parts !== undefined) {
    readUnion(name, value, { parts, reading });
    return;
  }
  const relation = member(definition.relationships, name);
  if (relation === undefined) {
    const all = [definition.relationships, definition.unions ?? {}].flatMap((names) =>
      Object.keys(names),
    );
    const known = hintOf(name, all, faults);
    const detail = `${definition.type} has no relationship "${name}"${known}`;
    faults.push({ detail, source: { pointer: at } });
    return;
  }
  // Clients send back what they read: links without data are ignored.
  if (isObject(value) && value.data === undefined) return;
  const data = isObject(value) ? value.data : value;
  const isWritable = ['document', 'always', reading.mode].includes(relation.write);
  if (!isWritable && reading.mode === 'create') {
    if (!isNothing(data)) faults.push(notWritten(name, { definition }));
    return;
  }
  const { toOne, toMany } = isWritable ? reading.input : reading.repeated;
  const place = { type: relation.type, at: reading.at ?? `${at}/data`, faults };
  if (relation.kind === 'toMany') toMany[name] = readIdentifiers(data, place);
  else if (data === null && relation.required !== true) toOne[name] = null;
  else toOne[name] = readIdentifier(data, place);
}

/** A union: the relationship of the given type is set, and the others are cleared. */
function readUnion(
  name: string,
  value: unknown,
  { parts, reading }: { parts: UnionPart[]; reading: Reading },
): void {
  if (isObject(value) && value.data === undefined) return;
  const data = isObject(value) ? value.data : value;
  const type = isObject(data) ? data.type : undefined;
  const [chosen] = parts.find(([, relation]) => relation.type === type) ?? [];
  const at = pointer('data', 'relationships', name, 'data');
  const types = parts.map(([, relation]) => `"${relation.type}"`).join(' or ');
  if (typeof type === 'string' && chosen === undefined) {
    const source = { pointer: `${at}/type` };
    throw new AppError('wrong_type', 409, `the type here is ${types}`, { source });
  }
  if (data !== null && chosen === undefined) {
    const detail = `expected an identifier {"type": ${types}, "id": …}`;
    reading.faults.push({ detail, source: { pointer: at } });
    return;
  }
  const others = reading.mode === 'create' ? [] : parts.filter(([part]) => part !== chosen);
  for (const [part] of others) readRelationship(part, { data: null }, { ...reading, at });
  if (chosen !== undefined) readRelationship(chosen, { data }, { ...reading, at });
}

function isNothing(data: unknown): boolean {
  return data === null || (Array.isArray(data) && data.length === 0);
}

function requireAll({ definition, faults, input }: Reading, fixed: FixedByPath): void {
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!attribute.required || Object.hasOwn(input.attributes, name)) continue;
    if (Object.hasOwn(fixed.attributes, name)) continue;
    const source = { pointer: pointer('data', 'attributes', name) };
    faults.push({ detail: `${name} is required`, source });
  }
  requireOneOf({ definition, faults, input });
  for (const [name, relation] of Object.entries(definition.relationships)) {
    if (relation.kind === 'toMany' || !relation.required) continue;
    if (Object.hasOwn(input.toOne, name) || Object.hasOwn(fixed.toOne, name)) continue;
    const source = { pointer: pointer('data', 'relationships', name) };
    faults.push({ detail: `the relationship ${name} is required`, source });
  }
}

type Required = Pick<Reading, 'definition' | 'faults' | 'input'>;

function requireOneOf({ definition, faults, input }: Required): void {
  const { requiresOneOf } = definition;
  if (requiresOneOf === undefined) return;
  if (requiresOneOf.some((name) => (input.attributes[name] ?? '') !== '')) return;
  // One that was refused was given.
  const places = requiresOneOf.map((name) => pointer('data', 'attributes', name));
  if (faults.some(({ source }) => places.includes(source?.pointer ?? ''))) return;
  const detail = `one of ${requiresOneOf.join(', ')} is required`;
  faults.push({ detail, source: { pointer: '/data/attributes' } });
}
