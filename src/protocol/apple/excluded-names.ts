import { type CommandTarget, commandItem, faultsOf, inherited } from './command-target.js';
import type { Platform, SchemaKey, SchemaSystems } from './schema-types.js';

/** Stands for any name. */
const ANY = 'ANY';

interface Walk {
  target: CommandTarget;
  platform: Platform;
  names: Set<string>;
}

interface Place {
  walk: Walk;
  levels: (SchemaSystems | undefined)[];
  /** The key that the keys are in. */
  parent: string;
}

/**
 * The names of the keys, queries and settings of a command that the target can't take. Parameters without any of these
 * names have nothing that it can't take; a name may also stand where the target takes it.
 */
export function excludedNames(requestType: string, target: CommandTarget): string[] {
  const { platform } = target;
  const item = commandItem(requestType);
  if (item === undefined || platform === undefined) return [];
  const names = new Set<string>();
  const walk = { target, platform, names };
  walkKeys(item.keys, { walk, levels: [item.os], parent: '' });
  return [...names];
}

function walkKeys(keys: readonly SchemaKey[] = [], place: Place): void {
  for (const key of keys) {
    const name = key.key === ANY ? place.parent : key.key;
    const at = { ...place, levels: [...place.levels, key.os], parent: name };
    if (isExcluded(at)) place.walk.names.add(name);
    else if (key.type === 'array') walkElements(key.subkeys, at);
    else if (key.type === 'dictionary') walkKeys(key.subkeys, at);
  }
}

/** One element has no name of its own; several are named by their `Item`. */
function walkElements(elements: readonly SchemaKey[] = [], place: Place): void {
  for (const element of elements) {
    const name = elements.length === 1 ? place.parent : element.key;
    const at = { ...place, levels: [...place.levels, element.os], parent: name };
    if (isExcluded(at)) place.walk.names.add(name);
    else walkKeys(element.subkeys, at);
  }
}

function isExcluded({ walk: { target, platform }, levels }: Place): boolean {
  return faultsOf(inherited(platform, levels), target, platform).length > 0;
}
