import type { ResourceDefinition, ToMany, View } from '../definition/definition.js';
import type { Scope } from '../store.js';

/** The parent and relationship of a collection below a resource. */
export interface ScopeOf extends Omit<Scope, 'id'> {
  parent: ResourceDefinition;
  relation: ToMany;
}

/** Restricts a collection's rows besides the client's filter. */
export interface CollectionPlace {
  scopeOf?: ScopeOf | undefined;
  view?: View | undefined;
}
