import type { Key } from './keys';

/** Keys that a batch must not have: each device gets its own. */
const OWN: Record<string, readonly string[]> = { ClearPasscode: ['UnlockToken'] };

export function visibleKeys(requestType: string, keys: readonly Key[]): readonly Key[] {
  const own = OWN[requestType] ?? [];
  return keys.filter(({ name }) => !own.includes(name));
}
