import { isDeepStrictEqual } from 'node:util';

type Values = Record<string, unknown>;

/** Less what the row holds already: clients send back what they read. */
export function changedAttributes(row: Values, attributes: Values): Values {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name, value]) => !isDeepStrictEqual(row[name], value)),
  );
}
