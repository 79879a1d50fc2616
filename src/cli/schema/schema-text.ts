import type { SchemaItemData, SchemaKeyData, Value } from './schema-item.js';

export interface SchemaSource {
  repo: string;
  /** null where the folder is no clone. */
  commit: string | null;
  /** The newest version that the schema names, by platform. */
  os: Record<string, string>;
  license: string;
}

/** The JSON file of some items: one key a line, so that a change of Apple's reads as a short diff. */
export function schemaText(items: SchemaItemData[], source: SchemaSource): string {
  const sorted = [...items].sort(
    (a, b) => compare(idOf(a), idOf(b)) || compare(fileOf(a), fileOf(b)),
  );
  const body = sorted.map(itemText).join(',\n');
  return `{"source":${JSON.stringify(source)},\n"count":${items.length},\n"items":[\n${body}\n]}\n`;
}

function idOf({ head }: SchemaItemData): string {
  return (head.requestType ?? head.payloadType ?? '').toLowerCase();
}

function fileOf({ head }: SchemaItemData): string {
  return head.file ?? '';
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function itemText({ head, os, keys, response }: SchemaItemData): string {
  const parts = [JSON.stringify(head).slice(1, -1)];
  if (os !== undefined) parts.push(`"os":{${members(os).join(',\n  ')}}`);
  if (keys.length > 0) parts.push(`"keys":${listText(keys, 1)}`);
  if (response.length > 0) parts.push(`"response":${listText(response, 1)}`);
  return `{${parts.join(',\n ')}}`;
}

function listText(keys: SchemaKeyData[], depth: number): string {
  const lines = keys.map((key) => `${' '.repeat(depth + 1)}${keyText(key, depth + 1)}`);
  return `[\n${lines.join(',\n')}\n${' '.repeat(depth)}]`;
}

function keyText({ subkeys, ...rest }: SchemaKeyData, depth: number): string {
  const own = members(rest as Record<string, Value>);
  if (subkeys !== undefined && subkeys.length > 0) {
    own.push(`"subkeys":${listText(subkeys, depth)}`);
  }
  return `{${own.join(',')}}`;
}

function members(dict: Record<string, Value>): string[] {
  return Object.entries(dict).map(([name, value]) => `${JSON.stringify(name)}:${text(value)}`);
}

/** A real keeps its decimal point. */
function text(value: Value): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && Number.isInteger(value)) return value.toFixed(1);
  if (Array.isArray(value)) return `[${value.map(text).join(',')}]`;
  if (typeof value === 'object' && value !== null) return `{${members(value).join(',')}}`;
  return JSON.stringify(value);
}
