import { higherRole, type Role } from '../context.js';
import {
  type Access,
  type Registry,
  type ResourceDefinition,
  relatedDefinition,
  roleToLink,
  type ToMany,
} from '../definition/definition.js';
import type { ToOne } from '../definition/shape.js';
import { unionParts } from '../definition/unions.js';
import type { Handler, WriteHandler } from '../handler.js';
import { extractConfirmation, performConfirmed } from '../requests/confirmation.js';
import type { CollectionPlace } from './collection-place.js';
import { createHandler } from './create.js';
import { csvExporter, type Exporter } from './export.js';
import { itemHandler } from './item.js';
import { linkageHandler, type RelationshipPlace, unionHandler } from './linkage.js';
import { listHandler } from './list.js';
import { changeLinkHandler, changeLinksHandler } from './relationships.js';
import { deleteHandler, updateHandler } from './update.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Endpoint {
  role: Role;
  handler: Handler;
  hasBody: boolean;
  /** Collections only: exports all rows as text. */
  exporter?: Exporter;
}

/** One path and its methods. `{id}` is the only parameter. */
export interface Route {
  path: string;
  methods: Partial<Record<Method, Endpoint>>;
}

/** Every route of the definitions. */
export function routesOf(registry: Registry): Route[] {
  return [...registry.values()].flatMap((definition) => [
    collectionRoute(definition.path, definition),
    ...(definition.views ?? []).map((view) => collectionRoute(view.path, definition, { view })),
    itemRoute(definition),
    ...relationshipRoutes(definition, registry),
    ...unionRoutes(definition, registry),
  ]);
}

function reads(role: Role, handler: Handler): Endpoint {
  return { role, handler, hasBody: false };
}

function writes(role: Role | null, method: Method, handler: WriteHandler): Route['methods'] {
  return creates(role, method, inOneTransaction(handler));
}

function deletes(role: Role | null, handler: WriteHandler): Route['methods'] {
  if (role === null) return {};
  return { DELETE: { role, handler: inOneTransaction(handler), hasBody: false } };
}

/** A handler that opens the transaction itself, if it takes one. */
function creates(role: Role | null, method: Method, handler: Handler): Route['methods'] {
  return role === null ? {} : { [method]: { role, handler, hasBody: true } };
}

function inOneTransaction(handler: WriteHandler): Handler {
  return async (api, request) => {
    const confirmed = extractConfirmation(request);
    return performConfirmed(api, confirmed, handler(api, confirmed.request));
  };
}

/** GET and POST of one set of rows: all of a type, those of a view, those below a parent. */
function collectionRoute(
  path: string,
  definition: ResourceDefinition,
  { access = definition.access, ...place }: CollectionPlace & { access?: Access } = {},
): Route {
  const methods = {
    GET: {
      ...reads(access.read, listHandler(definition, place)),
      exporter: csvExporter(definition, place),
    },
    ...creates(access.create, 'POST', createHandler(definition, place)),
  };
  return { path, methods };
}

function itemRoute(definition: ResourceDefinition): Route {
  const { path, access } = definition;
  const methods = {
    GET: reads(access.read, itemHandler(definition)),
    ...writes(access.update, 'PATCH', updateHandler(definition)),
    ...deletes(access.delete, deleteHandler(definition)),
  };
  return { path: `${path}/{id}`, methods };
}

function relationshipRoutes(definition: ResourceDefinition, registry: Registry): Route[] {
  return Object.entries(definition.relationships).flatMap(([name, relation]) => {
    const path = `${definition.path}/{id}/relationships/${name}`;
    const place = { definition, name, relation };
    const get = { GET: reads(roleToSeeLinks(registry, place), linkageHandler(place)) };
    if (relation.kind === 'toOne') {
      return [{ path, methods: { ...get, ...linkChange({ ...place, relation }, registry) } }];
    }
    const many = { ...place, relation };
    const methods = { ...get, ...linkChanges(many, registry) };
    return [{ path, methods }, scopedRoute(many, registry)];
  });
}

/** A union is read by its path; it is set when its owner is created. */
function unionRoutes(definition: ResourceDefinition, registry: Registry): Route[] {
  return Object.keys(definition.unions ?? {}).map((name) => {
    const parts = unionParts(definition, name) ?? [];
    const roles = parts.map(([, relation]) =>
      roleToSeeLinks(registry, { definition, name, relation }),
    );
    const role = roles.reduce(higherRole, definition.access.read);
    const path = `${definition.path}/{id}/relationships/${name}`;
    return { path, methods: { GET: reads(role, unionHandler({ definition, name, parts })) } };
  });
}

/** Linkage is shown only to roles that may read both sides. */
function roleToSeeLinks(registry: Registry, { definition, relation }: RelationshipPlace): Role {
  return higherRole(definition.access.read, relatedDefinition(registry, relation).access.read);
}

function linkChange(place: RelationshipPlace<ToOne>, registry: Registry): Route['methods'] {
  const { update } = place.definition.access;
  if (place.relation.write !== 'always' || update === null) return {};
  // The response has the same content as a read of the relationship.
  const role = higherRole(update, roleToSeeLinks(registry, place));
  return writes(role, 'PATCH', changeLinkHandler(place));
}

function linkChanges(place: RelationshipPlace<ToMany>, registry: Registry): Route['methods'] {
  if (place.relation.write === 'never') return {};
  const change = roleToLink(registry, place);
  const role = change && higherRole(change, roleToSeeLinks(registry, place));
  return {
    ...writes(role, 'POST', changeLinksHandler(place, 'add')),
    ...writes(role, 'PATCH', changeLinksHandler(place, 'replace')),
    ...writes(role, 'DELETE', changeLinksHandler(place, 'remove')),
  };
}

/** The collection below a parent, such as a device's tags. */
function scopedRoute(
  { definition, name, relation }: RelationshipPlace<ToMany>,
  registry: Registry,
): Route {
  const related = relatedDefinition(registry, relation);
  const path = `${definition.path}/{id}/${name}`;
  const access = accessBelow(definition, related, relation);
  return collectionRoute(path, related, { access, scopeOf: { parent: definition, relation } });
}

/** A create below a parent also changes the parent's relationship if it has a join table. */
function accessBelow(
  parent: ResourceDefinition,
  related: ResourceDefinition,
  relation: ToMany,
): Access {
  const access = {
    ...related.access,
    read: higherRole(parent.access.read, related.access.read),
  };
  if (relation.createsBelow === false) return { ...access, create: null };
  const { create } = access;
  const { update } = parent.access;
  if ('foreignKey' in relation.via || !create || !update) return access;
  return { ...access, create: higherRole(create, update) };
}
