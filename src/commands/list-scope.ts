import type { ListScope } from '../db/devices/listed-inventory.js';
import type { PlistDict } from '../protocol/plist/plist.js';

/** The strings of the array at `key`; undefined when there is no array. */
export function stringsAt(dict: PlistDict, key: string): string[] | undefined {
  const value = dict[key];
  if (!Array.isArray(value)) return undefined;
  return value.filter((entry) => typeof entry === 'string');
}

/** Of which entries a list command asked, by its parameters. */
export function listScope(parameters: PlistDict, managedOnlyKey: string): ListScope {
  const isManagedOnly = parameters[managedOnlyKey] === true;
  return { named: stringsAt(parameters, 'Identifiers'), isManagedOnly };
}
