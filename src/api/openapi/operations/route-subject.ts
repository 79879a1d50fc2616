import {
  inverseOf,
  type Registry,
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
  type View,
} from '../../../jsonapi/definition/definition.js';

/** What the resources at a path are, and how the path got to them. */
export type RouteSubject =
  | { kind: 'collection'; definition: ResourceDefinition; view?: View; parent?: Parent }
  | { kind: 'item'; definition: ResourceDefinition }
  | { kind: 'relationship'; definition: ResourceDefinition; name: string; relation: Relationship }
  | { kind: 'union'; definition: ResourceDefinition; name: string };

/** The resource whose path the collection's path extends. */
export interface Parent {
  definition: ResourceDefinition;
  relationship: string;
  /** The relationship of created resources that the path sets. */
  fixes: string | undefined;
}

/** What the path of a generated route is about. Throws Error for a path of another kind. */
export function subjectOf(path: string, registry: Registry): RouteSubject {
  for (const definition of registry.values()) {
    const subject = subjectIn(path, definition, registry);
    if (subject) return subject;
  }
  throw new Error(`nothing is known about the path ${path}`);
}

function subjectIn(
  path: string,
  definition: ResourceDefinition,
  registry: Registry,
): RouteSubject | undefined {
  if (path === definition.path) return { kind: 'collection', definition };
  const view = definition.views?.find((candidate) => candidate.path === path);
  if (view) return { kind: 'collection', definition, view };
  const item = `${definition.path}/{id}`;
  if (path === item) return { kind: 'item', definition };
  const union = Object.keys(definition.unions ?? {}).find(
    (name) => path === `${item}/relationships/${name}`,
  );
  if (union !== undefined) return { kind: 'union', definition, name: union };
  for (const [name, relation] of Object.entries(definition.relationships)) {
    if (path === `${item}/relationships/${name}`) {
      return { kind: 'relationship', definition, name, relation };
    }
    if (path === `${item}/${name}` && relation.kind === 'toMany') {
      const related = relatedDefinition(registry, relation);
      const { via } = relation;
      const fixes = 'foreignKey' in via ? inverseOf(related, via.foreignKey) : undefined;
      const parent = { definition, relationship: name, fixes };
      return { kind: 'collection', definition: related, parent };
    }
  }
  return undefined;
}
