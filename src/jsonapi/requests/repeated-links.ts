import type { ErrorDetail } from '../../errors.js';
import type { Transaction } from '../context.js';
import {
  member,
  type Registry,
  type ResourceDefinition,
  relatedDefinition,
  type ToMany,
  type WriteInput,
} from '../definition/definition.js';
import type { ToOne } from '../definition/shape.js';
import type { ApiContext } from '../handler.js';
import { pointer } from './pointers.js';

/** Linkage in a document of relationships that can't be written there. */
export type Repeated = Pick<WriteInput, 'toOne' | 'toMany'>;

/** The fault of a document that would change such a relationship; it names the path to use. */
export function notWritten(
  name: string,
  { definition, id = '{id}' }: { definition: ResourceDefinition; id?: number | string },
): ErrorDetail {
  const { type, path, relationships } = definition;
  const hints: Record<string, string> = {
    endpoint: `; use ${path}/${id}/relationships/${name}`,
    create: ': it never changes. Delete the resource and create another one',
  };
  const hint = hints[member(relationships, name)?.write ?? ''] ?? '';
  const detail = `${name} can't be written in a document of ${type}${hint}`;
  return { detail, source: { pointer: pointer('data', 'relationships', name) } };
}

interface Repeating {
  definition: ResourceDefinition;
  id: number;
  repeated: Repeated;
}

/** A fault for each relationship whose present linkage differs from the document's. */
export async function repeatedFaults(
  api: ApiContext,
  trx: Transaction,
  repeating: Repeating,
): Promise<ErrorDetail[]> {
  const { definition, id, repeated } = repeating;
  const faults = await toOneFaults(api, trx, repeating);
  for (const [name, ids] of Object.entries(repeated.toMany)) {
    const relation = definition.relationships[name];
    if (relation?.kind !== 'toMany') continue;
    if (!(await holds(api, trx, { relation, id, ids }))) {
      faults.push(notWritten(name, { definition, id }));
    }
  }
  return faults;
}

async function toOneFaults(
  { store, registry }: ApiContext,
  trx: Transaction,
  { definition, id, repeated }: Repeating,
): Promise<ErrorDetail[]> {
  const relations = Object.entries(repeated.toOne).flatMap(([name, wanted]) => {
    const relation = definition.relationships[name];
    // 0 is a malformed identifier, which has its fault already.
    return relation?.kind === 'toOne' && wanted !== 0 ? [{ name, relation, wanted }] : [];
  });
  if (relations.length === 0) return [];
  const columns = relations.map(({ relation }) => relation.column);
  const row = await store.find(trx, { shape: definition, id, columns });
  return relations
    .filter(({ relation, wanted }) => row?.[relation.column] !== wanted)
    .map(({ name, relation, wanted }) => {
      const fault = notWritten(name, { definition, id });
      const other = otherSide(registry, { definition, relation });
      return other && wanted
        ? { ...fault, detail: `${fault.detail}; use ${other(wanted)}` }
        : fault;
    });
}

/** The path of the inverse relationship, which can be written. */
function otherSide(
  registry: Registry,
  { definition, relation }: { definition: ResourceDefinition; relation: ToOne },
): ((id: number) => string) | undefined {
  const related = relatedDefinition(registry, relation);
  const inverse = Object.entries(related.relationships).find(
    ([, { type, ...other }]) =>
      other.kind === 'toMany' &&
      other.write !== 'never' &&
      type === definition.type &&
      'foreignKey' in other.via &&
      other.via.foreignKey === relation.column,
  );
  return inverse && ((id) => `${related.path}/${id}/relationships/${inverse[0]}`);
}

async function holds(
  { store, registry }: ApiContext,
  trx: Transaction,
  { relation, id, ids }: { relation: ToMany; id: number; ids: number[] },
): Promise<boolean> {
  const link = { relation, shape: relatedDefinition(registry, relation), id };
  const others = await store.linkage(trx, { ...link, except: ids, limit: 1 });
  if (others.length > 0) return false;
  return (await store.linkage(trx, { ...link, only: ids })).length === ids.length;
}
