import { createHash } from 'node:crypto';
import { AppError, notFound } from '../../errors.js';
import type { Transaction } from '../context.js';
import type { ResourceDefinition } from '../definition/definition.js';
import type { ResourceShape } from '../definition/shape.js';
import type { ApiContext } from '../handler.js';
import type { Row } from '../store.js';

// A tag is two hashes: of the row's state, which If-Match compares, and of the bytes sent.
const TAG = /(?:W\/)?"([\x21\x23-\x7e]*)"/g;
const TAGS = /^\s*(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*\s*$/;

function hash(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('base64url').slice(0, 22);
}

const columnsByShape = new WeakMap<ResourceShape, string[]>();

/** The columns of a row's state: all but the volatile ones. */
export function stateColumns(shape: ResourceShape): string[] {
  const known = columnsByShape.get(shape) ?? findStateColumns(shape);
  columnsByShape.set(shape, known);
  return known;
}

function findStateColumns({ attributes, relationships }: ResourceShape): string[] {
  const own = Object.entries(attributes).flatMap(([name, attribute]) => {
    if (attribute.volatile) return [];
    if (attribute.derivedFrom === undefined) return [name];
    return attribute.writeOnly ? attribute.derivedFrom : [];
  });
  const keys = Object.values(relationships).flatMap((relation) =>
    relation.kind === 'toOne' ? [relation.column] : [],
  );
  return [...new Set([...own, ...keys])];
}

/** Hash of the row's state: the part of its tags that If-Match compares. */
export function stateOf(shape: ResourceShape, row: Row): string {
  return hash(JSON.stringify(stateColumns(shape).map((column) => row[column])));
}

/**
 * `W/"<state>.<representation>"` with its quotes. `row` has the columns of `stateColumns`. Weak for the
 * reason given at `entityTagOf`.
 */
export function entityTag(shape: ResourceShape, row: Row, body: Buffer): string {
  return `W/"${stateOf(shape, row)}.${hash(body)}"`;
}

/**
 * The states that an If-Match header names; undefined = any (`*`). AppError 400 if it is malformed.
 * Weak tags match, too, contrary to RFC 9110 §13.1.1: a state is the same in every content coding.
 */
export function parseIfMatch(header: string): Set<string> | undefined {
  if (header.trim() === '*') return undefined;
  if (!TAGS.test(header)) {
    const message = 'If-Match must be * or a list of entity tags';
    throw new AppError('bad_request', 400, message, { source: { header: 'If-Match' } });
  }
  return new Set([...header.matchAll(TAG)].map(([, tag = '']) => tag.split('.', 1)[0] ?? ''));
}

/** The resource that a write changes, and the If-Match header of the request. */
export interface Target {
  /** Further columns to read. */
  columns?: readonly string[] | undefined;
  definition: ResourceDefinition;
  id: number;
  ifMatch?: string | undefined;
}

/**
 * Locks the row that a write changes, before any other row. AppError 404 if there is none, 412 if
 * If-Match does not name its state.
 */
export async function lockTarget(
  { store }: ApiContext,
  trx: Transaction,
  { definition: shape, id, ifMatch, columns: further = [] }: Target,
): Promise<Row> {
  const states = ifMatch === undefined ? undefined : parseIfMatch(ifMatch);
  const columns = [...new Set([...further, ...(states ? stateColumns(shape) : [])])];
  const row = await store.find(trx, { shape, id, columns, lock: true });
  if (row === undefined) throw notFound(`${shape.type} ${id}`);
  if (!states || states.has(stateOf(shape, row))) return row;
  const message = `${shape.type} ${id} has been changed meanwhile; read it again`;
  throw new AppError('precondition_failed', 412, message, { source: { header: 'If-Match' } });
}
