// Imports with extensions: tests that run in Node read this file, too.
import type { Key } from './keys.js';

/** Keys that a batch must not have: each device gets its own. */
const OWN: Record<string, readonly string[]> = { ClearPasscode: ['UnlockToken'] };

interface Command {
  request_type: string;
  /** Names, with commas between them. */
  platforms: string;
  keys: readonly Key[];
}

/** The keys of the form. Of those for every platform of the command none is named once more. */
export function visibleKeys({ request_type, platforms, keys }: Command): readonly Key[] {
  const own = OWN[request_type] ?? [];
  const all = platforms.split(', ');
  return keys.filter(({ name }) => !own.includes(name)).map((key) => ofAll(key, all));
}

function ofAll(key: Key, all: readonly string[]): Key {
  const { platforms, keys, items, ...others } = key;
  const isOfAll =
    platforms?.length === all.length &&
    platforms.every(({ platform, supervised }) => supervised !== true && all.includes(platform));
  return {
    ...others,
    ...(platforms !== undefined && !isOfAll && { platforms }),
    ...(keys !== undefined && { keys: keys.map((one) => ofAll(one, all)) }),
    ...(items !== undefined && { items: items.map((one) => ofAll(one, all)) }),
  };
}
