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

/** The pane of this name, in any case; undefined when Apple's schema has none. */
export function skippablePane(name: string): SkippablePane | undefined {
  const found = byLowerCase.get(name.toLowerCase());
  return found && { key: found.key, systems: systemsOf(found) };
}

/** A key without `introduced` for a system inherits it from the whole list. */
function systemsOf({ os = {} }: SkipKey): Platform[] {
  const systems = Object.keys(item.os) as Platform[];
  return systems.filter((system) => introduced(os, system) ?? introduced(item.os, system));
}

/** False: not on this system; undefined: not specified. */
function introduced(os: SchemaSystems, system: Platform): boolean | undefined {
  const version = os[system]?.introduced;
  return version === undefined ? undefined : version !== 'n/a';
}
