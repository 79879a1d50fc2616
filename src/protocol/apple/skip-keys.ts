import type { Platform, SchemaSystems } from './schema-types.js';
import skipkeys from './skipkeys.json';

interface SkipKey {
  key: string;
  os?: SchemaSystems;
}

interface SkipKeys {
  os: SchemaSystems;
  keys: SkipKey[];
}

const [item] = skipkeys.items as unknown as [SkipKeys];
const byLowerCase = new Map(item.keys.map((key) => [key.key.toLowerCase(), key]));

/** A pane of Setup Assistant that Apple's schema knows. */
export interface SkippablePane {
  /** As Apple writes it. */
  key: string;
  /** Systems that have, or had, the pane. */
  systems: Platform[];
}

/** The pane of this name, in whatever case; undefined when Apple's schema has none. */
export function skippablePane(name: string): SkippablePane | undefined {
  const found = byLowerCase.get(name.toLowerCase());
  return found && { key: found.key, systems: systemsOf(found) };
}

/** What a key does not say of a system, the list of all keys says. */
function systemsOf({ os = {} }: SkipKey): Platform[] {
  const systems = Object.keys(item.os) as Platform[];
  return systems.filter((system) => introduced(os, system) ?? introduced(item.os, system));
}

/** False: not on this system; undefined: nothing is said. */
function introduced(os: SchemaSystems, system: Platform): boolean | undefined {
  const version = os[system]?.introduced;
  return version === undefined ? undefined : version !== 'n/a';
}
