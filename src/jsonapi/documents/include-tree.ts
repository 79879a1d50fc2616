import {
  member,
  type Registry,
  type Relationship,
  type ResourceDefinition,
  relatedDefinition,
} from '../definition/definition.js';
import { unionParts } from '../definition/unions.js';

/** One step of the paths in `include`, from some resource over a relationship. */
export interface IncludeStep {
  relation: Relationship;
  /** The type that the step starts from. */
  ownerType: string;
  /** The type that it leads to. */
  definition: ResourceDefinition;
  children: IncludeTree;
}

/** Steps by the relationship's name. */
export type IncludeTree = Map<string, IncludeStep>;

/** The tree of validated paths: shared steps occur once. */
export function includeTree(
  paths: string[],
  definition: ResourceDefinition,
  registry: Registry,
): IncludeTree {
  const tree: IncludeTree = new Map();
  for (const path of paths) {
    let [from, branch] = [definition, tree];
    for (const name of path.split('.')) {
      const parts = unionParts(from, name);
      // The last of its path: what follows would differ by the type.
      if (parts !== undefined) {
        for (const [part] of parts) {
          const step = branch.get(part) ?? stepFrom(from, part, registry);
          if (step !== undefined) branch.set(part, step);
        }
        break;
      }
      const step = branch.get(name) ?? stepFrom(from, name, registry);
      if (step === undefined) break;
      branch.set(name, step);
      [from, branch] = [step.definition, step.children];
    }
  }
  return tree;
}

function stepFrom(
  { type, relationships }: ResourceDefinition,
  name: string,
  registry: Registry,
): IncludeStep | undefined {
  const relation = member(relationships, name);
  if (relation === undefined) return undefined;
  const definition = relatedDefinition(registry, relation);
  return { relation, definition, ownerType: type, children: new Map() };
}

/** The names of the relationships followed from each type. */
export function namesByType(
  tree: IncludeTree,
  names = new Map<string, string[]>(),
): Map<string, string[]> {
  for (const [name, { ownerType, children }] of tree) {
    names.set(ownerType, [...(names.get(ownerType) ?? []), name]);
    namesByType(children, names);
  }
  return names;
}
