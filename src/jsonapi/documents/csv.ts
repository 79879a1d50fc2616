import type { Attribute } from '../definition/attributes.js';
import { formatTimestamp } from '../definition/values.js';
import type { Row } from '../store.js';
import { JsonText } from './json-text.js';
import type { Projection } from './projection.js';

export const CSV_MEDIA_TYPE = 'text/csv';

/** One column: its heading, and its cell of a row. */
export interface CsvColumn {
  name: string;
  cellOf(row: Row): string;
}

/**
 * The id, the attributes that the projection shows, and the ids that its to-one relationships lead to; in
 * the order of `fields` where the client gave some.
 */
export function csvColumns(
  projection: Projection,
  { services, fields = new Set() }: { services: unknown; fields?: Set<string> | undefined },
): CsvColumn[] {
  const order = [...fields];
  const columns = unordered(projection, services);
  const ordered = columns.sort(
    (one, other) => order.indexOf(one.field) - order.indexOf(other.field),
  );
  return [{ name: 'id', cellOf: (row) => String(row.id) }, ...ordered];
}

function unordered(projection: Projection, services: unknown): (CsvColumn & { field: string })[] {
  const { definition, actor, attributes, relationships } = projection;
  const source = { services, actor };
  const read = (name: string, attribute: Attribute, row: Row) =>
    attribute.derivedFrom ? definition.derive?.(name, row, source) : row[name];
  const shown = attributes.map(([name, attribute]) => ({
    name,
    field: name,
    cellOf: (row: Row) => cell(read(name, attribute, row)),
  }));
  const linked = relationships.flatMap(([name, relation]) => {
    if (relation.kind !== 'toOne') return [];
    return [{ name: `${name}_id`, field: name, cellOf: (row: Row) => cell(row[relation.column]) }];
  });
  return [...shown, ...linked];
}

/** RFC 4180. */
export function csvLine(cells: string[]): string {
  return `${cells.join(',')}\r\n`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return quotedIfNeeded(harmless(value));
  if (value instanceof Date) return formatTimestamp(value);
  if (typeof value !== 'object') return String(value);
  const text = value instanceof JsonText ? value.text : JSON.stringify(value);
  return quotedIfNeeded(harmless(text));
}

/**
 * Spreadsheets run text that begins like a formula, and devices name themselves: an apostrophe makes it
 * text (OWASP, "CSV Injection").
 */
function harmless(text: string): string {
  return /^[=+\-@\t\r\n|%＝＋－＠]/.test(text) ? `'${text}` : text;
}

function quotedIfNeeded(text: string): string {
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}
