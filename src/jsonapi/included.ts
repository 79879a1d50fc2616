import type { Transaction } from './context.js';
import { type Relationship, type ResourceDefinition, relatedDefinition } from './definition.js';
import {
  type Identifier,
  type Linkage,
  type ResourceObject,
  type SerializeOptions,
  serialize,
} from './document.js';
import type { Engine } from './engine.js';
import { type IncludeTree, includeTree, namesByType } from './include-tree.js';
import { type Projection, project } from './projection.js';
import type { QueryContext } from './query/context.js';
import { invalidParameter } from './query/invalid-parameter.js';
import type { DocumentQuery } from './query/query.js';
import type { RelatedRow, Row } from './store.js';

/** More than this in one document is refused, so that no request exhausts the memory. */
const MAX_INCLUDED = 20_000;

/** A row and how it is written, for those who write it later. */
export interface Unwritten {
  row: Row;
  options: SerializeOptions;
}

export interface Found {
  /** Each once, none of them a primary resource. */
  resources: Unwritten[];
  /** Of the primary resources. */
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
  /** What the client can do where they are too many. */
  remedy?: string;
  /** The form of what is written as text. */
  stringIds?: boolean;
}

/** Loads what `include` names for one resource's row: one statement for each step of its paths. */
export async function loadIncluded(
  engine: Engine,
  rows: Row[],
  options: IncludeOptions,
): Promise<Included> {
  const remedy = 'read them by their own path, page by page';
  const { resources, linkage } = await findIncluded(engine, rows, { ...options, remedy });
  return { resources: resources.map((one) => serialize(one.row, one.options)), linkage };
}

/** The same without writing the resources. AppError 400 when they are too many. */
export async function findIncluded(
  engine: Engine,
  rows: Row[],
  { definition, remedy = 'take a smaller page', ...options }: IncludeOptions,
): Promise<Found> {
  const tree = includeTree(options.query.include, definition, engine.registry);
  const search = new Search(engine, { ...options, tree, remedy });
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

interface SearchOptions extends Pick<IncludeOptions, 'query' | 'reader' | 'trx' | 'stringIds'> {
  tree: IncludeTree;
  remedy: string;
}

/** What one document includes, gathered along all paths. */
class Search {
  private readonly rows = new Map<string, Map<number, Row>>();
  private readonly linkage = new Map<string, Linkage>();
  private readonly projections = new Map<string, Projection>();
  private readonly names: Map<string, string[]>;
  private count = 0;

  constructor(
    private readonly engine: Engine,
    private readonly options: SearchOptions,
  ) {
    this.names = namesByType(options.tree);
  }

  async below(tree: IncludeTree, owners: Owners): Promise<void> {
    for (const [name, { relation, definition, children }] of tree) {
      const found = await this.load(owners, relation);
      this.note(definition, found);
      if (relation.kind === 'toMany') this.link(name, { owners, found, relation });
      const rows = [...new Map(found.map(({ row }) => [row.id, row])).values()];
      await this.below(children, { definition, rows });
    }
  }

  /** Columns and linkage of a type are the same on every path: its rows may come from any. */
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

  private async load({ rows }: Owners, relation: Relationship): Promise<RelatedRow[]> {
    const key = relation.kind === 'toOne' ? relation.column : 'id';
    const ids = rows.map((row) => row[key]).filter((id) => typeof id === 'number');
    if (ids.length === 0) return [];
    const shape = relatedDefinition(this.engine.registry, relation);
    const { columns } = this.projectionOf(shape);
    const { trx } = this.options;
    const limit = MAX_INCLUDED + 1;
    return this.engine.store.related(trx, {
      shape,
      relation,
      columns,
      ids: [...new Set(ids)],
      limit,
    });
  }

  private note({ type }: ResourceDefinition, found: RelatedRow[]): void {
    this.count += found.length;
    if (this.count > MAX_INCLUDED) {
      const what = `this would include more than ${MAX_INCLUDED} resources`;
      const message = `${what}; ${this.options.remedy}`;
      throw invalidParameter('include', message);
    }
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
  resources({ definition, rows }: Owners): Unwritten[] {
    const primary = new Set(rows.map(({ id }) => id));
    return [...this.rows].flatMap(([type, found]) => {
      const options = this.optionsFor(type);
      const left = [...found.values()].filter(
        ({ id }) => type !== definition.type || !primary.has(id),
      );
      return left.map((row) => ({ row, options }));
    });
  }

  private optionsFor(type: string): SerializeOptions {
    const { basePath, registry, services } = this.engine;
    const definition = registry.get(type);
    if (definition === undefined) throw new Error(`no resource of type ${type}`);
    const projection = this.projectionOf(definition);
    const { stringIds } = this.options;
    return { projection, basePath, registry, services, linkage: this.linkageOf(type), stringIds };
  }
}
