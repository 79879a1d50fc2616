import { isPlistDict, type PlistDict, type PlistValue } from '../plist/plist.js';
import {
  type CommandTarget,
  commandItem,
  faultsOf,
  inherited,
  type TargetFault,
} from './command-target.js';
import {
  elementKey,
  keyNamed,
  type Platform,
  type SchemaKey,
  type SchemaSystems,
} from './schema-types.js';

/** What is left of a command's parameters for one target. */
export interface ReducedParameters {
  value: PlistDict;
  /** Names of keys, of queries and of settings that were left out, as `Settings.Wallpaper`. */
  leftOut: string[];
  /** Why the target can't take a key that the command can't do without. */
  fault?: (TargetFault & { key: string }) | undefined;
}

interface Context {
  target: CommandTarget;
  platform: Platform;
  leftOut: string[];
  fault: ReducedParameters['fault'];
}

/**
 * Leaves out the optional keys, and the elements of arrays, that the target does not know by Apple's schema.
 * A fact that is not known leaves out nothing. Keys that the schema does not have stay.
 */
export function reduceParameters(
  requestType: string,
  parameters: PlistDict,
  target: CommandTarget,
): ReducedParameters {
  const item = commandItem(requestType);
  const { platform } = target;
  if (item === undefined || platform === undefined) return { value: parameters, leftOut: [] };
  const context: Context = { target, platform, leftOut: [], fault: undefined };
  const value = reduceDict(item.keys ?? [], parameters, { context, levels: [item.os], path: '' });
  return { value, leftOut: context.leftOut, fault: context.fault };
}

interface Place {
  context: Context;
  levels: (SchemaSystems | undefined)[];
  /** Names that lead here, joined by dots. */
  path: string;
}

function reduceDict(keys: SchemaKey[], dict: PlistDict, place: Place): PlistDict {
  const members = Object.entries(dict).flatMap(([name, member]) => {
    const key = keyNamed(keys, name);
    if (key === undefined) return [[name, member] as const];
    const at = { ...place, path: joined(place.path, name) };
    const kept = reduceMember(key, member as PlistValue, at);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return Object.fromEntries(members) as PlistDict;
}

/** Undefined: left out, or the fault is noted. */
function reduceMember(key: SchemaKey, value: PlistValue, place: Place): PlistValue | undefined {
  const levels = [...place.levels, key.os];
  const reason = faultAt(levels, place.context);
  const isRequired = key.presence === 'required';
  if (reason !== undefined) return leave(reason, place, isRequired);
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
  const kept = values.flatMap((value) => {
    const levels = elementLevels(array, value, place.levels);
    const fault = faultAt(levels, place.context);
    if (fault === undefined) return [reduceElement(array, value, { ...place, levels })];
    reason ??= fault;
    place.context.leftOut.push(elementPath(place.path, value));
    return [];
  });
  if (kept.length > 0 || reason === undefined) return kept;
  const isRequired = array.presence === 'required';
  return isRequired ? leave(reason, place, true) : undefined;
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

function leave(reason: TargetFault, { context, path }: Place, isRequired: boolean): undefined {
  if (isRequired) context.fault ??= { ...reason, key: path };
  else context.leftOut.push(path);
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
