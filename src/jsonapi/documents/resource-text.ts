import type { Attribute } from '../definition/attributes.js';
import { relatedDefinition } from '../definition/definition.js';
import type { ToOne } from '../definition/shape.js';
import { setPart } from '../definition/unions.js';
import { formatTimestamp } from '../definition/values.js';
import type { Row } from '../store.js';
import { attributeBytes } from './attribute-bytes.js';
import { columnTextsOf } from './column-texts.js';
import { type Identifier, resourcePath, type SerializeOptions } from './document.js';
import { JsonText } from './json-text.js';
import { type RelationshipPart, relationshipParts } from './relationship-parts.js';
import { Utf8Writer } from './utf8-writer.js';

/**
 * Writes byte for byte `JSON.stringify(serialize(row, options))`, in a fifth of the time, since it builds
 * no object of 150 members for each row of a list. With `stringIds` as `withStringIds` converts it.
 */
export function writeResource(out: Utf8Writer, row: Row, options: SerializeOptions): void {
  const { projection, basePath } = options;
  const { definition } = projection;
  const self = resourcePath(basePath, definition, row.id);
  out.text(`{"type":"${definition.type}","id":${idText(row.id, options)},"attributes":{`);
  writeAttributes(out, row, options);
  out.text(`},"links":{"self":"${self}"}`);
  writeRelationships(out, { row, self, options });
  out.text('}');
}

/** The same as text. */
export function resourceText(row: Row, options: SerializeOptions): string {
  const chunks: Buffer[] = [];
  const out = new Utf8Writer((chunk) => chunks.push(chunk));
  writeResource(out, row, options);
  out.finish();
  return Buffer.concat(chunks).toString();
}

function writeAttributes(out: Utf8Writer, row: Row, options: SerializeOptions): void {
  const { definition, attributes, actor } = options.projection;
  const source = { services: options.services, actor };
  const columns = columnTextsOf(row);
  const known = attributeBytes(options.projection, columns);
  const { labels, places } = known;
  const raws = columns?.rawOf(row) ?? [];
  let comma = 1;
  for (let index = 0; index < attributes.length; index += 1) {
    const place = places[index] as number;
    const raw = raws[place];
    const label = labels[index] as Buffer;
    if (raw === null) {
      const first = index;
      while (raws[places[index + 1] as number] === null) index += 1;
      out.bytes(without(comma, known.nulls(first, index)));
    } else if (raw !== undefined) {
      out.bytes(without(comma, label));
      columns?.writers[place]?.(raw, out);
    } else {
      const [name, { derivedFrom }] = attributes[index] as [string, Attribute];
      const value = derivedFrom ? definition.derive?.(name, row, source) : (row[name] ?? null);
      // JSON omits members whose value is undefined.
      if (value === undefined) continue;
      out.bytes(without(comma, label));
      out.text(valueText(value));
    }
    comma = 0;
  }
}

/** The first attribute has no comma before it. */
function without(comma: number, bytes: Buffer): Buffer {
  return comma === 0 ? bytes : bytes.subarray(comma);
}

function valueText(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return `"${formatTimestamp(value)}"`;
  return value instanceof JsonText ? value.text : JSON.stringify(value);
}

/** By the options, which all rows of a type in a document share. */
const known = new WeakMap<SerializeOptions, RelationshipPart[]>();

function partsOf(options: SerializeOptions): RelationshipPart[] {
  const found = known.get(options) ?? relationshipParts(options.projection, options.linkage);
  known.set(options, found);
  return found;
}

/** A row whose relationships are written. */
interface Owner {
  row: Row;
  /** The path of the resource. */
  self: string;
  options: SerializeOptions;
}

function writeRelationships(out: Utf8Writer, owner: Owner): void {
  const parts = partsOf(owner.options);
  if (parts.length === 0) return;
  out.text(',"relationships":{');
  let comma = 1;
  for (const part of parts) {
    if (part.kind === 'links') out.bytes(without(comma, part.text.with(owner.self)));
    else out.text(relationshipText(part, owner).slice(comma));
    comma = 0;
  }
  out.text('}');
}

function relationshipText(
  part: Exclude<RelationshipPart, { kind: 'links' }>,
  { row, self, options }: Owner,
): string {
  const { name } = part;
  const label = `,"${name}":{"links":{"self":"${self}/relationships/${name}"`;
  const relation = part.kind === 'union' ? setPart(part.parts, row) : part.relation;
  if (relation?.kind !== 'toMany') return `${label}${toOneText(row, relation, options)}}`;
  return `${label},"related":"${self}/${name}"}${linkageText(name, row, options)}}`;
}

function toOneText(row: Row, relation: ToOne | undefined, options: SerializeOptions): string {
  const id = relation && row[relation.column];
  if (relation === undefined || typeof id !== 'number') return '},"data":null';
  const path = resourcePath(options.basePath, relatedDefinition(options.registry, relation), id);
  return `,"related":"${path}"},"data":${identifierText({ type: relation.type, id }, options)}`;
}

function linkageText(name: string, row: Row, options: SerializeOptions): string {
  const data = options.linkage?.get(name)?.get(row.id);
  if (data === undefined) return '';
  const identifiers = data.map((identifier) => identifierText(identifier, options));
  return `,"data":[${identifiers.join(',')}]`;
}

function identifierText({ type, id }: Identifier, options: SerializeOptions): string {
  return `{"type":"${type}","id":${idText(id, options)}}`;
}

function idText(id: number, { stringIds }: SerializeOptions): string {
  return stringIds ? `"${id}"` : `${id}`;
}
