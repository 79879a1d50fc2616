type Values = Record<string, unknown>;

/** Less what the row holds already: clients send back what they read. */
export function changedAttributes(row: Values, attributes: Values): Values {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name, value]) => !isSame(row[name], value)),
  );
}

function isSame(stored: unknown, given: unknown): boolean {
  if (stored instanceof Date && given instanceof Date) return stored.getTime() === given.getTime();
  return stored === given;
}
