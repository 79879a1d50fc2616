import { UsageError } from '../options.js';
import { tableLines } from '../table.js';

/** A JSON:API document, as far as a table needs it. */
export interface ApiDocument {
  data: unknown;
  included?: unknown[] | undefined;
}

export interface TableOptions {
  /** Attributes, or paths such as `device.serial_number`; chosen by the width when absent. */
  columns?: readonly string[] | undefined;
  /** Names of the columns of a list without resources; undefined where they are not known. */
  known?: readonly string[] | undefined;
  /** Width of the terminal in characters. */
  width: number;
}

type Row = Record<string, unknown>;

const MAX_CELL_LENGTH = 40;
const GAP = 2;
const MAX_NAMED = 5;

/** undefined for an answer without resources. */
export function toDocument(value: unknown): ApiDocument | undefined {
  if (!isObject(value) || !('data' in value)) return undefined;
  const { data, included } = value;
  const resources = Array.isArray(data) ? data : [data];
  if (data !== null && !resources.every((one) => isObject(one) && 'type' in one)) return undefined;
  return { data, included: Array.isArray(included) ? included : undefined };
}

/**
 * A list as one row a resource, a single resource as one row an attribute. UsageError for a column that
 * no resource has.
 */
export async function formatTable(document: ApiDocument, options: TableOptions): Promise<string> {
  const isList = Array.isArray(document.data);
  const rows = await toRows(document);
  const names = rows.length === 0 ? options.known : rows.flatMap((row) => Object.keys(row));
  if (names !== undefined) checkColumns([...new Set(names)], options.columns);
  const hasHeading = isList && names === undefined && options.columns !== undefined;
  if (rows.length === 0 && !hasHeading) return 'nothing found\n';
  const table = isList ? listTable(rows, options) : resourceTable(rows[0], options);
  return `${tableLines(table).join('\n')}\n`;
}

/** Loaded when needed: no other command uses the package. */
async function toRows({ data, included }: ApiDocument): Promise<Row[]> {
  const resources = (Array.isArray(data) ? data : [data]).filter((one) => one !== null);
  const { default: jsonapiSerializer } = await import('jsonapi-serializer');
  const deserializer = new jsonapiSerializer.Deserializer({ keyForAttribute: (name) => name });
  // Without the document's links, which the package would add to every resource.
  const read = await deserializer.deserialize({ data: resources, included });
  return read as Row[];
}

function checkColumns(names: string[], columns: readonly string[] = []): void {
  const unknown = columns.find((column) => !names.includes(column.split('.')[0] ?? ''));
  if (unknown === undefined) return;
  const some = byLikeness(names, unknown).slice(0, MAX_NAMED).join(', ');
  const hint = `there are ${some}${names.length > MAX_NAMED ? ' and others' : ''}`;
  const remedy = 'without --columns those that fit are shown, without --table all';
  throw new UsageError(`there is no column ${JSON.stringify(unknown)}: ${hint}; ${remedy}`);
}

/** Those that share most pairs of letters with the name first. */
function byLikeness(names: string[], name: string): string[] {
  const pairs = pairsOf(name);
  const likeness = (other: string) => {
    const found = pairsOf(other);
    const shared = [...found].filter((pair) => pairs.has(pair)).length;
    return (2 * shared) / Math.max(1, found.size + pairs.size);
  };
  const rated = names.map((other) => ({ other, rate: likeness(other) }));
  return rated.sort((a, b) => b.rate - a.rate).map(({ other }) => other);
}

function pairsOf(text: string): Set<string> {
  const lower = text.toLowerCase();
  return new Set(
    Array.from({ length: Math.max(0, lower.length - 1) }, (_, i) => lower.slice(i, i + 2)),
  );
}

function listTable(rows: Row[], { columns, width }: TableOptions): string[][] {
  const chosen = columns ?? fittingColumns(rows, width);
  const heading = chosen.map((column) => column.toUpperCase());
  return [heading, ...rows.map((row) => chosen.map((column) => cell(row, column)))];
}

function resourceTable(row: Row = {}, { columns }: TableOptions): string[][] {
  const names = Object.keys(row).filter((name) => name !== 'id' && !isUnread(row[name]));
  const chosen = columns ?? ['id', ...names];
  return [['ATTRIBUTE', 'VALUE'], ...chosen.map((column) => [column, text(at(row, column))])];
}

/** `id` and then the attributes with a plain value in any row, in their order, that fit the width. */
function fittingColumns(rows: Row[], width: number): string[] {
  const names = ['id', ...Object.keys(rows[0] ?? {}).filter((name) => name !== 'id')];
  const plain = names.filter((name) => rows.some((row) => isPlain(row[name])));
  let used = -GAP;
  return plain.filter((name) => {
    const cells = rows.map((row) => cell(row, name).length);
    const needed = GAP + Math.max(name.length, ...cells);
    if (used + needed > width) return false;
    used += needed;
    return true;
  });
}

/** A relationship whose resources are not in the document: a list of nothing. */
function isUnread(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => one === null);
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function cell(row: Row, column: string): string {
  const whole = text(at(row, column));
  return whole.length > MAX_CELL_LENGTH ? `${whole.slice(0, MAX_CELL_LENGTH - 1)}…` : whole;
}

/** Follows a path into included resources; a list of them gives a list of values. */
function at(row: Row, column: string): unknown {
  return column.split('.').reduce<unknown>((value, name) => {
    if (Array.isArray(value)) return value.map((one) => (isObject(one) ? one[name] : undefined));
    return isObject(value) ? value[name] : undefined;
  }, row);
}

/** Without control characters: names of devices are printed on a terminal. */
function text(value: unknown): string {
  if (value === null || value === undefined) return '-';
  const isList = Array.isArray(value) && value.every((one) => isPlain(one) || one === undefined);
  const plain = isPlain(value) ? String(value) : isList ? value.join(', ') : JSON.stringify(value);
  return plain.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
