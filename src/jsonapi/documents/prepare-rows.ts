import type { Projection } from '../requests/projection.js';
import type { Row } from '../store.js';

/** Has the definition prepare rows that were read for a document, before they are written. */
export async function prepareRows(
  { definition, actor }: Pick<Projection, 'definition' | 'actor'>,
  rows: Row[],
  services: unknown,
): Promise<void> {
  await definition.prepare?.(rows, { services, actor });
}
