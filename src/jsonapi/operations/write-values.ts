import type { WriteInput } from '../definition/definition.js';
import type { ResourceShape } from '../definition/shape.js';

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

/** For the audit trail: the query parameters that were set. */
export function flagDetails(flags: ReadonlySet<string>): Record<string, unknown> {
  return flags.size > 0 ? { parameters: [...flags] } : {};
}
