import { AppError, type ErrorDetail } from '../errors.js';
import type { Transaction } from './context.js';
import { type ResourceDefinition, relatedDefinition, type WriteInput } from './definition.js';
import type { Engine } from './engine.js';
import { pointer } from './pointer.js';

interface Wanted {
  shape: ResourceDefinition;
  ids: number[];
  /** JSON pointer of the linkage. */
  at: string;
}

/** AppError 404 naming every related resource that does not exist. The others are kept alive. */
export async function requireRelated(
  { store }: Engine,
  trx: Transaction,
  wanted: Wanted[],
): Promise<void> {
  const details: ErrorDetail[] = [];
  for (const { shape, ids, at } of wanted) {
    const missing = await store.missing(trx, { shape, ids });
    for (const id of missing) {
      details.push({ detail: `${shape.type} ${id} does not exist`, source: { pointer: at } });
    }
  }
  if (details.length === 0) return;
  const message = details.map((fault) => fault.detail).join('; ');
  throw new AppError('not_found', 404, message, { details });
}

/** Everything that a document's relationships name. */
export function relatedIn(
  { registry }: Engine,
  { relationships }: ResourceDefinition,
  { toOne, toMany }: WriteInput,
): Wanted[] {
  const named = [
    ...Object.entries(toOne).map(([name, id]): [string, number[]] => [name, id ? [id] : []]),
    ...Object.entries(toMany),
  ];
  return named.flatMap(([name, ids]) => {
    const relation = relationships[name];
    if (relation === undefined || ids.length === 0) return [];
    const at = pointer('data', 'relationships', name, 'data');
    return [{ shape: relatedDefinition(registry, relation), ids, at }];
  });
}
