import type { ErrorDetail } from '../../errors.js';
import {
  type Actor,
  higherRole,
  type RequestContext,
  type Role,
  type Transaction,
} from '../context.js';
import type { CreatePlan } from '../create-plan.js';
import type { Row, Store } from '../store.js';
import type { Ownership } from './ownership.js';
import type { FilterIndexes, ResourceShape, ToManyShape, ToOne } from './shape.js';

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
  /** Shape of the written resource: the owner of a relationship. */
  shape: ResourceShape;
  services: S;
  context: RequestContext;
}

export interface RelateOperation<S> extends Operation<S> {
  id: number;
  relatedIds: number[];
  /** JSON pointer of the linkage. */
  at: string;
  /** `meta` of the response at the relationship's path, filled by the operation. */
  meta: Record<string, unknown>;
}

/** Validated values: attributes as column values, ids by relationship name. */
export interface WriteInput {
  attributes: Record<string, unknown>;
  toOne: Record<string, number | null>;
  toMany: Record<string, number[]>;
  /** Valid values of read-only attributes, for operations that compare them. */
  unwritable?: Record<string, unknown> | undefined;
}

export interface CreateOperation<S> extends Operation<S>, WriteInput {
  /** The `writeFlags`, and on create the `createFlags`, that are set. */
  flags: ReadonlySet<string>;
}

/** A create that is planned before any transaction. */
export interface PlanOperation<S> extends WriteInput, Omit<Operation<S>, 'trx' | 'store'> {
  flags: ReadonlySet<string>;
  /** Reads the resource that this to-one relationship of the document names. */
  related(name: string, columns: readonly string[]): Promise<Row | undefined>;
}

export interface UpdateOperation<S> extends CreateOperation<S> {
  id: number;
}

export interface DeleteOperation<S> extends Operation<S> {
  id: number;
  /** The `deleteFlags` that are set. */
  flags: ReadonlySet<string>;
  /** Details for the audit trail, filled by the operation. */
  details: Record<string, unknown>;
}

/** The id of the written row, and the `meta` of its document. */
export interface WriteResult {
  id: number;
  meta?: Record<string, unknown>;
  /** Details for the audit trail. */
  audit?: Record<string, unknown>;
}

/** Replaces the plain SQL of a to-many relationship. */
export interface RelationshipOperations<S> {
  add(operation: RelateOperation<S>): Promise<void>;
  remove(operation: RelateOperation<S>): Promise<void>;
}

export interface ToMany<S = unknown> extends ToManyShape {
  /**
   * `document`: by the relationship's own path and inside documents of the resource; `endpoint`: by
   * its path only; `never`: its path allows GET only. Over a foreign key, adding moves the rows from
   * their former owner; removing sets it to null, and is refused if it can't be null.
   */
  write: 'document' | 'endpoint' | 'never';
  operations?: RelationshipOperations<S>;
  /** POST and DELETE take a filter of the related rows in place of their identifiers. */
  acceptsFilter?: true;
  /** False: no POST to the collection below the resource. */
  createsBelow?: false;
}

export type Relationship<S = unknown> = ToOne | ToMany<S>;

/** Replaces the plain SQL of a resource. An error rolls the whole write back. */
export interface ResourceOperations<S> {
  /**
   * Faults of the attributes that `create` would refuse, to report with the faults of the document. A value
   * that already has a fault is undefined.
   */
  faults?(attributes: WriteInput['attributes'], services: S): ErrorDetail[];
  /** What else `create` would refuse, as the database says; asked only where the document has faults. */
  furtherFaults?(operation: CreateOperation<S>): Promise<ErrorDetail[]>;
  create?(operation: CreateOperation<S>): Promise<WriteResult>;
  /**
   * What `create` would store, if one statement can: its document has no `meta`, and its input no
   * to-many relationships. Undefined, or an AppError: `create` does it, or finds the reason again.
   */
  plan?(operation: PlanOperation<S>): Promise<CreatePlan | undefined>;
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

/** What derived values depend on besides the row. */
export interface DeriveSource<S> {
  services: S;
  /** The actor that reads the document. */
  actor: Actor;
}

/**
 * One JSON:API type: routes, validation, SQL and documents follow from it. S are the services that its
 * operations use.
 */
export interface ResourceDefinition<S = unknown> extends ResourceShape, FilterIndexes {
  /** Below /api/v1, with the leading slash. */
  path: string;
  relationships: Record<string, Relationship<S>>;
  /**
   * Polymorphic relationships: the name, and the to-one relationships, each of another type, of which at
   * most one is set. Documents show both; a create may name either.
   */
  unions?: Record<string, string[]>;
  access: Access;
  /** Others than its owner do not reach a row. For types that no relationship points to. */
  ownership?: Ownership;
  /** A create needs a value of at least one of these attributes. */
  requiresOneOf?: string[] | undefined;
  /** Applied on create only, to attributes that the client omitted. */
  defaults?: Record<string, unknown>;
  operations?: ResourceOperations<S>;
  /** Boolean query parameters of create and update: name -> description. */
  writeFlags?: Record<string, string>;
  /** Those of create alone. */
  createFlags?: Record<string, string>;
  /** The same for delete. */
  deleteFlags?: Record<string, string>;
  views?: View[];
  /** Documents of one resource are an array of one with `meta.count`, as for certificates. */
  alwaysArray?: boolean;
  /** Catalogues only: the attribute whose value is the id in documents and filters. */
  namedBy?: string;
  /** Converts other forms of a create's body to a JSON:API document; unknown ones pass unchanged. */
  adaptCreate?(body: unknown): unknown;
  /**
   * Runs before rows are serialized: replaces columns that `derive` would be slow to compute, such as
   * by JsonText written in another thread.
   */
  prepare?(rows: Row[], source: DeriveSource<S>): Promise<void>;
  /** Values of attributes with `derivedFrom`. */
  derive?(name: string, row: Row, source: DeriveSource<S>): unknown;
}

/** Returns the definition after checks that types can't express. Throws Error at start. */
export function defineResource<S>(definition: ResourceDefinition<S>): ResourceDefinition<S> {
  const names = [
    ...Object.keys(definition.attributes),
    ...Object.keys(definition.relationships),
    ...Object.keys(definition.unions ?? {}),
  ];
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw new Error(`${definition.type} has two fields ${duplicate}`);
  // Two underscores separate relationship and attribute in filters.
  const invalid = names.find((name) => /^(id|type)$|__|[^a-z0-9_]/.test(name));
  if (invalid !== undefined) throw new Error(`${definition.type}: bad field name ${invalid}`);
  const unknown = definition.views?.find(
    ({ attribute }) => !member(definition.attributes, attribute),
  );
  if (unknown)
    throw new Error(`${definition.type} has no attribute ${unknown.attribute} to view by`);
  return definition;
}

/** Definitions by type. */
export type Registry = ReadonlyMap<string, ResourceDefinition>;

/** What reading a query depends on: the types, and the actor that may see them. */
export interface QueryContext {
  registry: Registry;
  actor: Actor;
}

/** Throws Error if a type is defined twice or a relationship points to an unknown one. */
export function createRegistry(definitions: ResourceDefinition[]): Registry {
  const registry = new Map(definitions.map((definition) => [definition.type, definition]));
  if (registry.size !== definitions.length) throw new Error('a resource type is defined twice');
  for (const { type, relationships } of definitions) {
    const dangling = Object.values(relationships).find((relation) => !registry.has(relation.type));
    if (dangling) throw new Error(`${type} relates to the unknown type ${dangling.type}`);
    for (const relation of Object.values(relationships)) checkToMany(relation, registry);
  }
  return registry;
}

// A resource created below a parent must be able to point to it.
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

/** Whether the related rows of a relationship over a foreign key must have an owner. */
export function needsOwner(registry: Registry, relation: ToMany): boolean {
  if ('table' in relation.via) return false;
  const related = relatedDefinition(registry, relation);
  const inverse = inverseOf(related, relation.via.foreignKey);
  return inverse !== undefined && toOneOf(related, inverse)?.required === true;
}

/**
 * The role that changing a to-many relationship needs; null = read-only. Over a foreign key the related
 * rows change, so their role is needed, too.
 */
export function roleToLink(
  registry: Registry,
  { definition, relation }: { definition: ResourceDefinition; relation: ToMany },
): Role | null {
  const own = definition.access.update;
  if (!changesRelated(relation) || relation.operations) return own;
  const other = relatedDefinition(registry, relation).access.update;
  return own && other && higherRole(own, other);
}

/** The flags of a create. */
export function createFlagsOf({
  writeFlags,
  createFlags,
}: ResourceDefinition): Record<string, string> {
  return { ...writeFlags, ...createFlags };
}

/** Whether the related rows hold the relationship, and change with it. */
export function changesRelated(relation: Relationship): boolean {
  return relation.kind === 'toMany' && 'foreignKey' in relation.via;
}

/** The name of the to-one relationship over this column. */
export function inverseOf({ relationships }: ResourceDefinition, column: string) {
  return Object.keys(relationships).find((name) => {
    const relation = relationships[name];
    return relation?.kind === 'toOne' && relation.column === column;
  });
}

/** The definition that a relationship points to; `createRegistry` checked that it exists. */
export function relatedDefinition(registry: Registry, relation: Relationship): ResourceDefinition {
  const definition = registry.get(relation.type);
  if (definition === undefined) throw new Error(`no resource of type ${relation.type}`);
  return definition;
}

/** Looks `name` up among own members only: clients may ask for `constructor`. */
export function member<T>(members: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
