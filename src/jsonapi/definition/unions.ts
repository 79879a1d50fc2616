import { member, type ResourceDefinition } from './definition.js';
import type { ToOne } from './shape.js';

/** A to-one relationship that a union is made of. */
export type UnionPart = [name: string, relation: ToOne];

/** The relationships of a union; undefined when there is none of that name. */
export function unionParts(
  { unions, relationships }: Pick<ResourceDefinition, 'unions' | 'relationships'>,
  name: string,
): UnionPart[] | undefined {
  return member(unions ?? {}, name)?.map((part) => {
    const relation = member(relationships, part);
    if (relation?.kind !== 'toOne') throw new Error(`the union ${name} has no to-one ${part}`);
    return [part, relation];
  });
}

/** The relationship of a union that the row has. */
export function setPart(
  parts: readonly UnionPart[],
  row: Readonly<Record<string, unknown>>,
): ToOne | undefined {
  return parts.find(([, { column }]) => typeof row[column] === 'number')?.[1];
}
