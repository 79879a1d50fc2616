import type { Role } from './context.js';
import { createHandler } from './create.js';
import {
  type Registry,
  type ResourceDefinition,
  relatedDefinition,
  type ToMany,
} from './definition.js';
import type { Handler } from './engine.js';
import { itemHandler } from './item.js';
import { listHandler } from './list.js';
import { changeLinksHandler, linkageHandler } from './relationships.js';
import { deleteHandler, updateHandler } from './update.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Endpoint {
  role: Role;
  handler: Handler;
  hasBody: boolean;
}

/** One path and what can be done there. `{id}` is the only parameter. */
export interface Route {
  path: string;
  methods: Partial<Record<Method, Endpoint>>;
}

/** Every route that follows from the definitions. */
export function routesOf(registry: Registry): Route[] {
  return [...registry.values()].flatMap((definition) => [
    collectionRoute(definition),
    itemRoute(definition),
    ...relationshipRoutes(definition, registry),
  ]);
}

function reads(role: Role, handler: Handler): Endpoint {
  return { role, handler, hasBody: false };
}

function writes(role: Role | null, method: Method, handler: Handler): Route['methods'] {
  return role === null ? {} : { [method]: { role, handler, hasBody: true } };
}

function collectionRoute(definition: ResourceDefinition): Route {
  const { path, access } = definition;
  const methods = {
    GET: reads(access.read, listHandler(definition)),
    ...writes(access.create, 'POST', createHandler(definition)),
  };
  return { path, methods };
}

function itemRoute(definition: ResourceDefinition): Route {
  const { path, access } = definition;
  const remove = { handler: deleteHandler(definition), hasBody: false };
  const methods = {
    GET: reads(access.read, itemHandler(definition)),
    ...writes(access.update, 'PATCH', updateHandler(definition)),
    ...(access.delete === null ? {} : { DELETE: { ...remove, role: access.delete } }),
  };
  return { path: `${path}/{id}`, methods };
}

function relationshipRoutes(definition: ResourceDefinition, registry: Registry): Route[] {
  return Object.entries(definition.relationships).flatMap(([name, relation]) => {
    const place = { definition, name };
    const path = `${definition.path}/{id}/relationships/${name}`;
    const get = { GET: reads(definition.access.read, linkageHandler(place)) };
    if (relation.kind === 'toOne') return [{ path, methods: get }];
    const change = relation.write === 'never' ? {} : linkChanges(place, relation);
    return [{ path, methods: { ...get, ...change } }, scopedRoute(place, relation, registry)];
  });
}

interface Place {
  definition: ResourceDefinition;
  name: string;
}

function linkChanges(place: Place, relation: ToMany): Route['methods'] {
  const role = place.definition.access.update;
  const target = { ...place, relation };
  return {
    ...writes(role, 'POST', changeLinksHandler(target, 'add')),
    ...writes(role, 'PATCH', changeLinksHandler(target, 'replace')),
    ...writes(role, 'DELETE', changeLinksHandler(target, 'remove')),
  };
}

/** The collection below a parent, e.g. a device's tags. */
function scopedRoute({ definition, name }: Place, relation: ToMany, registry: Registry): Route {
  const related = relatedDefinition(registry, relation);
  const scope = { parent: definition, relation };
  return {
    path: `${definition.path}/{id}/${name}`,
    methods: {
      GET: reads(related.access.read, listHandler(related, { scopeOf: scope })),
      ...writes(related.access.create, 'POST', createHandler(related, scope)),
    },
  };
}
