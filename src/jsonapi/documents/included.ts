import type { Transaction } from '../context.js';
import type { QueryContext, Relationship, ResourceDefinition } from '../definition/definition.js';
import type { ApiContext } from '../handler.js';
import type { DocumentQuery } from '../query/query.js';
import type { Caller, RelatedRow, Row } from '../store.js';
import {
  type Identifier,
  type Linkage,
  type ResourceObject,
  resourcePath,
  type SerializeOptions,
  serialize,
} from './document.js';
import {
  assertIncludedFits,
  type IncludedStep,
  MAX_INCLUDED,
  MAX_INCLUDED_BYTES,
  notIncluded,
  tooManyIncluded,
} from './include-limit.js';
import { type IncludeStep, type IncludeTree, includeTree, namesByType } from './include-tree.js';
import { type Projection, prepareRows, project } from './projection.js';

/** A row that is serialized later. */
export interface UnserializedRow {
  row: Row;
  options: SerializeOptions;
}

export interface Found {
  /** Each once, without the primary resources. */
  resources: UnserializedRow[];
  /** Linkage of the primary resources. */
  linkage: Linkage;
}

export interface Included {
  resources: ResourceObject[];
  linkage: Linkage;
}

interface IncludeOptions {
  definition: ResourceDefinition;
  query: DocumentQuery;
  reader: QueryContext;
  trx: Transaction | null;
  /** For a read outside of a transaction. */
  caller?: Caller | undefined;
  /** For documents that are written as text. */
  stringIds?: boolean;
}

/** Loads the resources that `include` names, in one statement for each step of its paths. */
export async function loadIncluded(
  api: ApiContext,
  rows: Row[],
  options: IncludeOptions,
): Promise<Included> {
  const { resources, linkage } = await findIncluded(api, rows, options);
  return { resources: resources.map((one) => serialize(one.row, one.options)), linkage };
}

/** The same without serializing them. AppError 400 if there are too many. */
export async function findIncluded(
  api: ApiContext,
  rows: Row[],
  { definition, ...options }: IncludeOptions,
): Promise<Found> {
  const tree = includeTree(options.query.include, definition, api.registry);
  const search = new Search(api, { ...options, tree });
  await search.below(tree, { definition, rows });
  return {
    resources: search.resources({ definition, rows }),
    linkage: search.linkageOf(definition.type),
  };
}

/** Rows of one type, from which the next step of a path starts. */
interface Owners {
  definition: ResourceDefinition;
  rows: Row[];
}

interface SearchOptions extends Omit<IncludeOptions, 'definition'> {
  tree: IncludeTree;
}

/** What one document includes, gathered along all paths. */
class Search {
  private readonly rows = new Map<string, Map<number, Row>>();
  private readonly linkage = new Map<string, Linkage>();
  private readonly projections = new Map<string, Projection>();
  private readonly names: Map<string, string[]>;
  private readonly steps: IncludedStep[] = [];
  private count = 0;

  constructor(
    private readonly api: ApiContext,
    private readonly options: SearchOptions,
  ) {
    this.names = namesByType(options.tree);
  }

  async below(tree: IncludeTree, owners: Owners): Promise<void> {
    for (const [name, step] of tree) {
      const { relation, definition, children } = step;
      const found = await this.load(owners, name, step);
      this.note(definition, found);
      if (relation.kind === 'toMany') this.link(name, { owners, found, relation });
      const rows = [...new Map(found.map(({ row }) => [row.id, row])).values()];
      await this.below(children, { definition, rows });
    }
  }

  /** One projection a type, since its rows may come from several paths. */
  private projectionOf(definition: ResourceDefinition): Projection {
    const { type } = definition;
    const { query, reader } = this.options;
    const fields = query.fields.get(type);
    const include = this.names.get(type) ?? [];
    const known =
      this.projections.get(type) ?? project(definition, { fields, include, detail: false, reader });
    this.projections.set(type, known);
    return known;
  }

  private async load(owners: Owners, name: string, step: IncludeStep): Promise<RelatedRow[]> {
    const { relation, definition: shape } = step;
    const key = relation.kind === 'toOne' ? relation.column : 'id';
    const ids = owners.rows.map((row) => row[key]).filter((id) => typeof id === 'number');
    if (ids.length === 0) return [];
    const projection = this.projectionOf(shape);
    const { columns } = projection;
    const { trx, caller } = this.options;
    const limit = MAX_INCLUDED + 1 - this.count;
    const asked = { shape, relation, columns, caller, ids: [...new Set(ids)], limit };
    const address = this.addressOf(owners, name, step);
    const found = await this.api.store
      .related(trx, { ...asked, maxBytes: MAX_INCLUDED_BYTES })
      .catch((error: unknown) => {
        throw notIncluded(error, [{ count: limit, address }]);
      });
    this.steps.push({ count: found.length, address });
    const rows = found.map(({ row }) => row);
    await prepareRows(projection, rows, this.api.services);
    return found;
  }

  /** The path of this step's collection, below the owner if there is only one. */
  private addressOf({ definition, rows }: Owners, name: string, step: IncludeStep): string {
    const { basePath } = this.api;
    if (step.relation.kind === 'toOne') return `${basePath}${step.definition.path}`;
    const [first, second] = rows;
    const isOne = first !== undefined && second === undefined;
    const owner = isOne
      ? resourcePath(basePath, definition, first.id)
      : `${basePath}${definition.path}/{id}`;
    return `${owner}/${name}`;
  }

  private note({ type }: ResourceDefinition, found: RelatedRow[]): void {
    this.count += found.length;
    if (this.count > MAX_INCLUDED) throw tooManyIncluded(this.steps);
    const known = this.rows.get(type) ?? new Map<number, Row>();
    this.rows.set(type, known);
    for (const { row } of found) if (!known.has(row.id)) known.set(row.id, row);
  }

  private link(
    name: string,
    { owners, found, relation }: { owners: Owners; found: RelatedRow[]; relation: Relationship },
  ): void {
    const linkage = this.linkageOf(owners.definition.type);
    const lists = linkage.get(name) ?? new Map<number, Identifier[]>();
    linkage.set(name, lists);
    for (const { id } of owners.rows) lists.set(id, []);
    for (const { owner, row } of found) lists.get(owner)?.push({ type: relation.type, id: row.id });
  }

  linkageOf(type: string): Linkage {
    const known = this.linkage.get(type) ?? (new Map() as Linkage);
    this.linkage.set(type, known);
    return known;
  }

  /** JSON:API 1.1: no more than one resource object for each type and id in a document. */
  resources({ definition, rows }: Owners): UnserializedRow[] {
    const primary = new Set(rows.map(({ id }) => id));
    const types = [...this.rows].map(([type, found]) => {
      const isPrimary = ({ id }: Row) => type === definition.type && primary.has(id);
      const left = [...found.values()].filter((row) => !isPrimary(row));
      return { rows: left, options: this.optionsFor(type) };
    });
    assertIncludedFits(types, this.steps);
    return types.flatMap(({ rows: left, options }) => left.map((row) => ({ row, options })));
  }

  private optionsFor(type: string): SerializeOptions {
    const { basePath, registry, services } = this.api;
    const definition = registry.get(type);
    if (definition === undefined) throw new Error(`no resource of type ${type}`);
    const projection = this.projectionOf(definition);
    const { stringIds } = this.options;
    return { projection, basePath, registry, services, linkage: this.linkageOf(type), stringIds };
  }
}
