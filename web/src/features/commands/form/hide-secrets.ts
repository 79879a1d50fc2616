// Imports with extensions: tests that run in Node read this file, too.
import type { Key } from './keys.js';

const HIDDEN = '••••••';

/** The parameters with dots in place of each secret, as a page may show them. */
export function hideSecrets(
  keys: readonly Key[],
  parameters: Record<string, unknown>,
): Record<string, unknown> {
  const named = Object.entries(parameters).map(([name, value]) => {
    const same = keys.filter((key) => key.name === name);
    return [name, hide(same, value)];
  });
  return Object.fromEntries(named);
}

/** Elements of a list can be of several forms: what is secret in one of them is hidden in all. */
function hide(keys: readonly Key[], value: unknown): unknown {
  if (keys.some((key) => key.is_secret)) return HIDDEN;
  if (Array.isArray(value)) {
    const items = keys.flatMap((key) => key.items ?? []);
    return value.map((element: unknown) => hide(items, element));
  }
  if (typeof value !== 'object' || value === null) return value;
  const members = keys.flatMap((key) => key.keys ?? []);
  return hideSecrets(members, value as Record<string, unknown>);
}
