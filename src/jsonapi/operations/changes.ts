import { isDeepStrictEqual } from 'node:util';
import type { Actor, Changes, LinkChange } from '../context.js';
import type { Attribute } from '../definition/attributes.js';
import type { ResourceDefinition, WriteInput } from '../definition/definition.js';
import type { ResourceShape, ToOne } from '../definition/shape.js';
import type { Row } from '../store.js';

/** Derives values as for an admin: only admins read the audit trail. */
const READER: Actor = { name: 'audit', role: 'admin' };

const columnsByDefinition = new WeakMap<ResourceDefinition, string[]>();

/** The columns that `changesOf` reads. */
export function changeColumns(definition: ResourceDefinition): string[] {
  const known = columnsByDefinition.get(definition) ?? findColumns(definition);
  columnsByDefinition.set(definition, known);
  return known;
}

function findColumns(definition: ResourceDefinition): string[] {
  const own = Object.entries(definition.attributes)
    .filter(([, attribute]) => !isPresentation(attribute))
    .flatMap(([name, { derivedFrom }]) => derivedFrom ?? [name]);
  const keys = toOnes(definition).map(([, { column }]) => column);
  return [...new Set([...own, ...keys])];
}

/** Counted, or computed from columns, and never written: their changes are listed instead. */
function isPresentation({ derivedFrom, write, onRequest }: Attribute): boolean {
  if (onRequest) return true;
  return derivedFrom !== undefined && write === 'never';
}

function toOnes({ relationships }: ResourceDefinition): [name: string, relation: ToOne][] {
  return Object.entries(relationships).flatMap(([name, relation]) =>
    relation.kind === 'toOne' ? [[name, relation]] : [],
  );
}

export interface Written {
  services: unknown;
  /** Null for a create. */
  before: Row | null;
  /** Null for a delete. */
  after: Row | null;
  /** What the client sent; absent for a delete. */
  input?: WriteInput | undefined;
}

/**
 * What a write changed in a row: attributes that the client sent or could have written, and every
 * attribute of a deleted row. Volatile attributes count only if they were sent.
 */
export function changesOf(definition: ResourceDefinition, written: Written): Changes {
  const changes: Changes = {};
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!isAudited(name, attribute, written)) continue;
    const change =
      attribute.writeOnly || attribute.isCredential
        ? secretChange(name, attribute, written)
        : valueChange(written, (row) => readValue(definition, { name, attribute, row, written }));
    if (change !== undefined) changes[name] = change;
  }
  for (const [name, { column }] of toOnes(definition)) {
    const change = valueChange(written, (row) => row[column] ?? null);
    if (change !== undefined) changes[name] = change;
  }
  return changes;
}

function isAudited(name: string, attribute: Attribute, { after, input }: Written): boolean {
  if (isPresentation(attribute)) return false;
  if (input !== undefined && Object.hasOwn(input.attributes, name)) return true;
  if (attribute.volatile) return false;
  if (after === null) return true;
  // Computing a value takes time, and it has changed only if it was sent.
  return attribute.write !== 'never' && attribute.derivedFrom === undefined;
}

/** The columns that `changesOf` reads for a create with this input. */
export function createdColumns(definition: ResourceDefinition, input: WriteInput): string[] {
  const always = alwaysCreated.get(definition) ?? findCreated(definition);
  alwaysCreated.set(definition, always);
  const sent = Object.keys(input.attributes).flatMap((name) => {
    const attribute = definition.attributes[name];
    return attribute && !isPresentation(attribute) ? (attribute.derivedFrom ?? [name]) : [];
  });
  return [...always, ...sent];
}

const alwaysCreated = new WeakMap<ResourceDefinition, string[]>();

/** Columns that it reads for every input. */
function findCreated(definition: ResourceDefinition): string[] {
  const written = { services: undefined, before: null, after: { id: 0 } };
  const own = Object.entries(definition.attributes)
    .filter(([name, attribute]) => isAudited(name, attribute, { ...written, input: NOTHING_SENT }))
    .flatMap(([name, { derivedFrom }]) => derivedFrom ?? [name]);
  return [...own, ...toOnes(definition).map(([, { column }]) => column)];
}

const NOTHING_SENT: WriteInput = { attributes: {}, toOne: {}, toMany: {} };

type Change = Changes[string] | undefined;

/** A secret that is sealed again differs, even if its value is the same. */
function secretChange(
  name: string,
  { derivedFrom = [name] }: Attribute,
  { before, after, input }: Written,
): Change {
  const differs = derivedFrom.some(
    (column) => !isDeepStrictEqual(before?.[column], after?.[column]),
  );
  const isSent = derivedFrom.length === 0 && input !== undefined;
  return (differs && hasValue(derivedFrom, before, after)) || isSent ? 'changed' : undefined;
}

function hasValue(columns: string[], ...rows: (Row | null)[]): boolean {
  return columns.some((column) => rows.some((row) => (row?.[column] ?? null) !== null));
}

function valueChange({ before, after }: Written, read: (row: Row) => unknown): Change {
  const [former, present] = [before && read(before), after && read(after)];
  return isDeepStrictEqual(former, present) ? undefined : [former, present];
}

interface Place {
  name: string;
  attribute: Attribute;
  row: Row;
  written: Written;
}

function readValue(
  definition: ResourceDefinition,
  { name, attribute, row, written: { services } }: Place,
): unknown {
  if (attribute.derivedFrom === undefined) return row[name] ?? null;
  return definition.derive?.(name, row, { services, actor: READER }) ?? null;
}

/** The changes of relationships, without those that added and removed nothing. */
export function linkChanges(links: Record<string, LinkChange>): Changes {
  const changed = Object.entries(links).filter(
    ([, { added, removed }]) => added.length + removed.length > 0,
  );
  return Object.fromEntries(changed);
}

/** The column values of a write: attributes and the ids of to-one relationships. */
export function columnsOf(
  { relationships }: Pick<ResourceShape, 'relationships'>,
  { attributes, toOne }: WriteInput,
): Record<string, unknown> {
  const values = { ...attributes };
  for (const [name, id] of Object.entries(toOne)) {
    const relation = relationships[name];
    if (relation?.kind === 'toOne') values[relation.column] = id;
  }
  return values;
}

/** Audit details: the query parameters that were set. */
export function flagDetails(flags: ReadonlySet<string>): Record<string, unknown> {
  return flags.size > 0 ? { parameters: [...flags] } : {};
}
