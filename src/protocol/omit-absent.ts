/** A copy without the members that are undefined. */
export function omitAbsent<T extends object>(fields: Loose<T>): T {
  const given = fields as Record<string, unknown>;
  const present: Record<string, unknown> = {};
  for (const name in given) {
    if (given[name] !== undefined) present[name] = given[name];
  }
  return present as T;
}

/** T with each optional member allowed to be undefined. */
type Loose<T> = { [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] };
