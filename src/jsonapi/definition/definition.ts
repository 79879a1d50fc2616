import {
  type Actor,
  higherRole,
  type RequestContext,
  type Role,
  type Transaction,
} from '../context.js';
import type { Row, Store } from '../store.js';
import type { ResourceShape, ToManyShape, ToOne } from './shape.js';

/** The role each operation needs; null = the operation does not exist (405). */
export interface Access {
  read: Role;
  create: Role | null;
  update: Role | null;
  delete: Role | null;
}

export interface Operation<S> {
  trx: Transaction;
  store: Store;
  /** Of the resource itself (a relationship's owner), for the store. */
  shape: ResourceShape;
  services: S;
  context: RequestContext;
}

export interface RelateOperation<S> extends Operation<S> {
  id: number;
  relatedIds: number[];
  /** JSON pointer of the linkage. */
  at: string;
  /** Of the answer at the relationship's own path, to be filled by the operation. */
  meta: Record<string, unknown>;
}

/** Validated values: attributes as the columns take them, ids by relationship name. */
export interface WriteInput {
  attributes: Record<string, unknown>;
  toOne: Record<string, number | null>;
  toMany: Record<string, number[]>;
  /** Valid values of attributes that can't be written now, for operations that compare them. */
  unwritable?: Record<string, unknown> | undefined;
}

export interface CreateOperation<S> extends Operation<S>, WriteInput {
  /** Those of `writeFlags` that are set. */
  flags: ReadonlySet<string>;
}

export interface UpdateOperation<S> extends CreateOperation<S> {
  id: number;
}

export interface DeleteOperation<S> extends Operation<S> {
  id: number;
  /** Those of `deleteFlags` that are set. */
  flags: ReadonlySet<string>;
  /** For the audit trail, to be filled by the operation. */
  details: Record<string, unknown>;
}

/** The row written and what to tell beside it in the document's `meta`. */
export interface WriteResult {
  id: number;
  meta?: Record<string, unknown>;
  /** Details for the audit trail. */
  audit?: Record<string, unknown>;
}

/** What a to-many relationship does instead of plain SQL in its join table or foreign key. */
export interface RelationshipOperations<S> {
  add(operation: RelateOperation<S>): Promise<void>;
  remove(operation: RelateOperation<S>): Promise<void>;
}

export interface ToMany<S = unknown> extends ToManyShape {
  /**
   * `document`: by the relationship's own path and inside documents of the resource;
   * `endpoint`: by its path only; `never`: its path answers GET only. Over a foreign key, adding
   * takes the rows from their former owner; what is dropped points to none afterwards, and where it
   * must point to one, dropping is refused.
   */
  write: 'document' | 'endpoint' | 'never';
  operations?: RelationshipOperations<S>;
  /** False: nothing is created in the collection below the resource. */
  createsBelow?: false;
}

export type Relationship<S = unknown> = ToOne | ToMany<S>;

/** What a resource does instead of plain SQL. Anything thrown rolls the whole write back. */
export interface ResourceOperations<S> {
  create?(operation: CreateOperation<S>): Promise<WriteResult>;
  update?(operation: UpdateOperation<S>): Promise<WriteResult>;
  delete?(operation: DeleteOperation<S>): Promise<void>;
}

/** Another collection of the same type: the rows whose attribute has this value. */
export interface View {
  /** Below /api/v1, with the leading slash. What is created there gets the value. */
  path: string;
  attribute: string;
  value: string;
}

/** What derived values come from beside the row. */
export interface DeriveSource<S> {
  services: S;
  /** Who reads. */
  actor: Actor;
}

/**
 * One JSON:API type: routes, validation, SQL and documents follow from it. S is whatever
 * services its operations use.
 */
export interface ResourceDefinition<S = unknown> extends ResourceShape {
  /** Below /api/v1, with the leading slash. */
  path: string;
  relationships: Record<string, Relationship<S>>;
  access: Access;
  /** A create needs a value of at least one of these attributes. */
  requiresOneOf?: string[] | undefined;
  /** Applied on create only, to attributes that the client left out. */
  defaults?: Record<string, unknown>;
  operations?: ResourceOperations<S>;
  /** Query parameters of its create and update, each true or false: name -> what it means. */
  writeFlags?: Record<string, string>;
  /** The same of its delete. */
  deleteFlags?: Record<string, string>;
  views?: View[];
  /** Documents of one resource hold it as an array with `meta.count`, as those of certificates do. */
  alwaysArray?: boolean;
  /** Turns other forms of the body of a create into a JSON:API document; others pass unchanged. */
  adaptCreate?(body: unknown): unknown;
  /**
   * Before rows are written: replaces columns that `derive` would take long over, as by JsonText that
   * another thread has written.
   */
  prepare?(rows: Row[], source: DeriveSource<S>): Promise<void>;
  /** Values of attributes with `derivedFrom`. */
  derive?(name: string, row: Row, source: DeriveSource<S>): unknown;
}

/** Checks what the types can't and returns the definition itself. Throws Error at start. */
export function defineResource<S>(definition: ResourceDefinition<S>): ResourceDefinition<S> {
  const names = [...Object.keys(definition.attributes), ...Object.keys(definition.relationships)];
  const doubled = names.find((name, index) => names.indexOf(name) !== index);
  if (doubled !== undefined) throw new Error(`${definition.type} has two fields ${doubled}`);
  // Two underscores part relationship and attribute in filters.
  const bad = names.find((name) => /^(id|type)$|__|[^a-z0-9_]/.test(name));
  if (bad !== undefined) throw new Error(`${definition.type}: bad field name ${bad}`);
  const blind = definition.views?.find(
    ({ attribute }) => !member(definition.attributes, attribute),
  );
  if (blind) throw new Error(`${definition.type} has no attribute ${blind.attribute} to view by`);
  return definition;
}

/** Definitions by type. */
export type Registry = ReadonlyMap<string, ResourceDefinition>;

/** Throws Error when a type is given twice or a relationship points to none. */
export function createRegistry(definitions: ResourceDefinition[]): Registry {
  const registry = new Map(definitions.map((definition) => [definition.type, definition]));
  if (registry.size !== definitions.length) throw new Error('a resource type is defined twice');
  for (const { type, relationships } of definitions) {
    const lost = Object.values(relationships).find((relation) => !registry.has(relation.type));
    if (lost) throw new Error(`${type} relates to the unknown type ${lost.type}`);
    for (const relation of Object.values(relationships)) checkToMany(relation, registry);
  }
  return registry;
}

// What is created below a parent must be able to point to it.
function checkToMany(relation: Relationship, registry: Registry): void {
  if (relation.kind === 'toOne' || 'table' in relation.via) return;
  const related = relatedDefinition(registry, relation);
  const inverse = inverseOf(related, relation.via.foreignKey);
  if (inverse === undefined) {
    throw new Error(`${related.type} has no relationship over ${relation.via.foreignKey}`);
  }
  if (relation.write === 'never' || relation.operations !== undefined) return;
  if (toOneOf(related, inverse)?.write !== 'always') {
    throw new Error(`the ${inverse} of ${related.type} can't be changed from its other side`);
  }
}

function toOneOf({ relationships }: ResourceDefinition, name: string): ToOne | undefined {
  const relation = relationships[name];
  return relation?.kind === 'toOne' ? relation : undefined;
}

/** True when rows at the other end of a relationship over a foreign key must have an owner. */
export function needsOwner(registry: Registry, relation: ToMany): boolean {
  if ('table' in relation.via) return false;
  const related = relatedDefinition(registry, relation);
  const inverse = inverseOf(related, relation.via.foreignKey);
  return inverse !== undefined && toOneOf(related, inverse)?.required === true;
}

/**
 * Who may change a to-many relationship; null = nobody. Over a foreign key it is the rows at the
 * other end that change, so it takes the right to change those, too.
 */
export function roleToLink(
  registry: Registry,
  { definition, relation }: { definition: ResourceDefinition; relation: ToMany },
): Role | null {
  const own = definition.access.update;
  if ('table' in relation.via || relation.operations) return own;
  const other = relatedDefinition(registry, relation).access.update;
  return own && other && higherRole(own, other);
}

/** The name of the to-one relationship over this column. */
export function inverseOf({ relationships }: ResourceDefinition, column: string) {
  return Object.keys(relationships).find((name) => {
    const relation = relationships[name];
    return relation?.kind === 'toOne' && relation.column === column;
  });
}

/** The definition a relationship points to; createRegistry has checked that it is there. */
export function relatedDefinition(registry: Registry, relation: Relationship): ResourceDefinition {
  const definition = registry.get(relation.type);
  if (definition === undefined) throw new Error(`no resource of type ${relation.type}`);
  return definition;
}

/** Looks `name` up among own members only: clients may ask for `constructor`. */
export function member<T>(members: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

export interface QueryContext {
  registry: Registry;
  actor: Actor;
}
