import { isPlistDict, type PlistDict, type PlistValue } from '../plist/plist.js';
import {
  type CommandTarget,
  commandItem,
  faultsOf,
  inherited,
  type TargetFault,
} from './command-target.js';
import type { JsonValue } from './plist-json.js';
import {
  elementKey,
  keyNamed,
  type Platform,
  pointerTo,
  type SchemaKey,
  type SchemaSystems,
} from './schema-types.js';

type Parameters = PlistDict | { [key: string]: JsonValue };

/** A key, a query or a setting that the target can't take. */
export interface ExcludedKey {
  /** The names that lead to it, as `Settings.Wallpaper`. */
  name: string;
  /** JSON pointer below the parameters. */
  pointer: string;
  fault: TargetFault;
}

/** What is left of a command's parameters for one target. */
export interface ReducedParameters<Given extends Parameters = PlistDict> {
  value: Given;
  excluded: ExcludedKey[];
  /** Why the target can't take a key that the command can't do without. */
  fault?: TargetFault | undefined;
}

interface Context {
  target: CommandTarget;
  platform: Platform;
  excluded: ExcludedKey[];
  fault: TargetFault | undefined;
}

/**
 * Leaves out the optional keys, and the elements of arrays, that the target does not know by Apple's schema.
 * A fact that is not known leaves out nothing. Keys that the schema does not have stay.
 */
export function reduceParameters<Given extends Parameters>(
  requestType: string,
  parameters: Given,
  target: CommandTarget,
): ReducedParameters<Given> {
  const item = commandItem(requestType);
  const { platform } = target;
  if (item === undefined || platform === undefined) return { value: parameters, excluded: [] };
  const context: Context = { target, platform, excluded: [], fault: undefined };
  const start = { context, levels: [item.os], path: '', pointer: '' };
  const value = reduceDict(item.keys ?? [], parameters as PlistDict, start) as Given;
  return { value, excluded: context.excluded, fault: context.fault };
}

interface Place {
  context: Context;
  levels: (SchemaSystems | undefined)[];
  /** Names that lead here, joined by dots. */
  path: string;
  pointer: string;
}

function reduceDict(keys: SchemaKey[], dict: PlistDict, place: Place): PlistDict {
  const members = Object.entries(dict).flatMap(([name, member]) => {
    const key = keyNamed(keys, name);
    if (key === undefined) return [[name, member] as const];
    const at = {
      ...place,
      path: joined(place.path, name),
      pointer: pointerTo(place.pointer, name),
    };
    const kept = reduceMember(key, member as PlistValue, at);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return Object.fromEntries(members) as PlistDict;
}

/** Undefined: left out, or the fault is noted. */
function reduceMember(key: SchemaKey, value: PlistValue, place: Place): PlistValue | undefined {
  const levels = [...place.levels, key.os];
  const reason = faultAt(levels, place.context);
  if (reason !== undefined) {
    if (key.presence === 'required') place.context.fault ??= reason;
    return exclude(reason, place);
  }
  if (Array.isArray(value)) return reduceArray(key, value, { ...place, levels });
  if (!isPlistDict(value) || key.type !== 'dictionary') return value;
  return reduceDict(key.subkeys ?? [], value, { ...place, levels });
}

/** An array of which nothing is left is left out itself. */
function reduceArray(
  array: SchemaKey,
  values: readonly PlistValue[],
  place: Place,
): PlistValue | undefined {
  let reason: TargetFault | undefined;
  const kept = values.flatMap((value, index) => {
    const at = {
      ...place,
      levels: elementLevels(array, value, place.levels),
      path: elementPath(place.path, value),
      pointer: pointerTo(place.pointer, index),
    };
    const fault = faultAt(at.levels, place.context);
    if (fault === undefined) return [reduceElement(array, value, at)];
    reason ??= fault;
    exclude(fault, at);
    return [];
  });
  if (kept.length > 0 || reason === undefined) return kept;
  if (array.presence === 'required') place.context.fault ??= reason;
  return undefined;
}

function reduceElement(array: SchemaKey, value: PlistValue, place: Place): PlistValue {
  if (!isPlistDict(value)) return value;
  const keys = elementOf(array, value)?.subkeys;
  return keys === undefined ? value : reduceDict(keys, value, place);
}

function elementOf(array: SchemaKey, value: PlistValue): SchemaKey | undefined {
  return elementKey(array, isPlistDict(value) ? value.Item : undefined);
}

/** A string may be a name that has attributes of its own, as a query of DeviceInformation. */
function elementLevels(
  array: SchemaKey,
  value: PlistValue,
  levels: Place['levels'],
): Place['levels'] {
  const element = elementOf(array, value);
  const name = typeof value === 'string' ? value : undefined;
  const named = element?.subkeys?.find(({ key }) => key === name);
  return [...levels, element?.os, named?.os];
}

function faultAt(levels: Place['levels'], { target, platform }: Context): TargetFault | undefined {
  return faultsOf(inherited(platform, levels), target, platform)[0];
}

function exclude(fault: TargetFault, { context, path, pointer }: Place): undefined {
  context.excluded.push({ name: path, pointer, fault });
  return undefined;
}

function elementPath(path: string, value: PlistValue): string {
  if (typeof value === 'string') return joined(path, value);
  const item = isPlistDict(value) ? value.Item : undefined;
  return typeof item === 'string' ? joined(path, item) : path;
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
