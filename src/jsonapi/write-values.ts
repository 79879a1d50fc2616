import type { WriteInput } from './definition.js';
import type { ResourceShape } from './shape.js';

/** What goes into the columns: attributes and the ids of to-one relationships. */
export function columnsOf(
  { relationships }: Pick<ResourceShape, 'relationships'>,
  { attributes, toOne }: WriteInput,
): Record<string, unknown> {
  const values = { ...attributes };
  for (const [name, id] of Object.entries(toOne)) {
    const relation = relationships[name];
    if (relation?.kind === 'toOne') values[relation.column] = id;
  }
  return values;
}

/** For the audit trail: names only, since a value may be a secret. */
export function changedFields(
  { attributes, toOne, toMany }: WriteInput,
  flags: ReadonlySet<string>,
): Record<string, unknown> {
  const relationships = [...Object.keys(toOne), ...Object.keys(toMany)];
  return {
    attributes: Object.keys(attributes),
    ...(relationships.length > 0 ? { relationships } : {}),
    ...(flags.size > 0 ? { parameters: [...flags] } : {}),
  };
}
