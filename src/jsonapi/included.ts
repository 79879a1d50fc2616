import type { Transaction } from './context.js';
import { type Relationship, type ResourceDefinition, relatedDefinition } from './definition.js';
import { type Linkage, type ResourceObject, serialize } from './document.js';
import type { Engine } from './engine.js';
import { type Projection, project } from './projection.js';
import { invalidParameter } from './query/invalid-parameter.js';
import type { DocumentQuery } from './query/query.js';
import type { RelatedRow, Row } from './store.js';

/** More than this in one document is refused, so that no request exhausts the memory. */
const MAX_INCLUDED = 20_000;

export interface Included {
  resources: ResourceObject[];
  linkage: Linkage;
}

interface IncludeOptions {
  definition: ResourceDefinition;
  query: DocumentQuery;
  trx: Transaction | null;
}

/** Loads what `include` names for these rows: one statement per relationship. */
export async function loadIncluded(
  engine: Engine,
  rows: Row[],
  { definition, query, trx }: IncludeOptions,
): Promise<Included> {
  const linkage: Linkage = new Map();
  const resources = new Map<string, ResourceObject>();
  for (const name of query.include) {
    const relation = definition.relationships[name];
    if (relation === undefined) continue;
    const related = relatedDefinition(engine.registry, relation);
    const projection = project(related, { fields: query.fields.get(related.type), detail: false });
    const found = await load(engine, { rows, relation, projection, trx });
    checkSize(found.length + resources.size);
    collect(engine, { found, projection, resources });
    if (relation.kind === 'toMany') linkage.set(name, linkageOf(found, related.type));
  }
  return { resources: [...resources.values()], linkage };
}

interface LoadOptions {
  rows: Row[];
  relation: Relationship;
  projection: Projection;
  trx: Transaction | null;
}

async function load(
  { store }: Engine,
  { rows, relation, projection, trx }: LoadOptions,
): Promise<RelatedRow[]> {
  const key = relation.kind === 'toOne' ? relation.column : 'id';
  const ids = rows.map((row) => row[key]).filter((id) => typeof id === 'number');
  if (ids.length === 0) return [];
  const { definition: shape, columns } = projection;
  const limit = MAX_INCLUDED + 1;
  return store.related(trx, { shape, relation, columns, ids: [...new Set(ids)], limit });
}

function checkSize(count: number): void {
  if (count <= MAX_INCLUDED) return;
  const message = `this would include more than ${MAX_INCLUDED} resources; take a smaller page`;
  throw invalidParameter('include', message);
}

interface Collecting {
  found: RelatedRow[];
  projection: Projection;
  resources: Map<string, ResourceObject>;
}

// JSON:API 1.1: no more than one resource object for each type and id.
function collect(engine: Engine, { found, projection, resources }: Collecting): void {
  const { basePath, registry, services } = engine;
  for (const { row } of found) {
    const key = `${projection.definition.type}/${row.id}`;
    if (resources.has(key)) continue;
    resources.set(key, serialize(row, { projection, basePath, registry, services }));
  }
}

function linkageOf(found: RelatedRow[], type: string): Map<number, { type: string; id: number }[]> {
  const owners = new Map<number, { type: string; id: number }[]>();
  for (const { owner, row } of found) {
    const list = owners.get(owner) ?? [];
    list.push({ type, id: row.id });
    owners.set(owner, list);
  }
  return owners;
}
