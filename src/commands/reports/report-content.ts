import { setImmediate as nextTurn } from 'node:timers/promises';
import type { InventoryRow } from '../../db/devices/inventory-repository.js';
import { type PlistDict, parsePlistDict } from '../../protocol/plist/plist.js';
import { handlerFor } from '../registry.js';

/** What a handler reads. */
export interface ReportContent {
  /** Undefined if the report has no list, or its handler reads the body. */
  rows: InventoryRow[] | undefined;
  /** Empty if there are rows. */
  body: PlistDict;
}

/** ReportContent as another thread returns it: rows as JSON arrays, each quick to parse. */
export interface ContentParts {
  rows: string[] | undefined;
  body: PlistDict;
}

const ROWS_IN_PART = 500;
const CHARACTERS_IN_PART = 256 * 1024;
/** Reports other than lists have some hundred values. */
const MAX_VALUES = 20_000;

/** The content of a report. AppError 400 or 422 for faults of the report. */
export function readContent(requestType: string, body: PlistDict): ReportContent {
  const handler = handlerFor(requestType);
  if (handler?.readRows === undefined) return { rows: undefined, body };
  return { rows: handler.readRows(body), body: {} };
}

export function readContentParts(requestType: string, bytes: Buffer): ContentParts {
  const isList = handlerFor(requestType)?.readRows !== undefined;
  const document = parsePlistDict(bytes, isList ? {} : { maxNodes: MAX_VALUES });
  const { rows, body } = readContent(requestType, document);
  return { rows: rows && toParts(rows), body };
}

/** Joins the parts, and yields to other work between them. */
export async function joinContentParts({
  rows: parts,
  body,
}: ContentParts): Promise<ReportContent> {
  if (parts === undefined) return { rows: undefined, body };
  const rows: InventoryRow[] = [];
  for (const part of parts) {
    rows.push(...(JSON.parse(part) as InventoryRow[]));
    await nextTurn();
  }
  return { rows, body };
}

function toParts(rows: InventoryRow[]): string[] {
  const parts: string[] = [];
  let part: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (part.length === ROWS_IN_PART || characters + text.length > CHARACTERS_IN_PART) {
      parts.push(`[${part.join(',')}]`);
      part = [];
      characters = 0;
    }
    part.push(text);
    characters += text.length;
  }
  return [...parts, `[${part.join(',')}]`];
}
