// Imports with extensions: tests that run in Node read this file, too.
import type { Draft, DraftValue, Entry } from './draft.js';
import { allowedValues, type Condition, type Key, kindOf, needsOne, pointerTo } from './keys.js';

export type ProblemCode =
  | 'required'
  | 'oneNeeded'
  | 'chooseOne'
  | 'number'
  | 'integer'
  | 'range'
  | 'items'
  | 'format'
  | 'json'
  | 'jsonObject'
  | 'jsonList'
  | 'date'
  | 'data';

/** What is wrong with a field, at its JSON pointer below the parameters. */
export interface Problem {
  pointer: string;
  code: ProblemCode;
  min?: number | undefined;
  max?: number | undefined;
  format?: string | undefined;
}

interface Written {
  parameters: Record<string, unknown>;
  problems: Problem[];
}

export function writeForm(
  keys: readonly Key[],
  draft: Draft,
  conditions: readonly Condition[] = [],
): Written {
  const problems: Problem[] = [];
  const place = { pointer: '', problems, conditions };
  return { parameters: writeMembers(keys, draft, place), problems };
}

/** Whether it only says that something is missing. */
export function isMissing({ code }: Problem): boolean {
  return code === 'required' || code === 'chooseOne' || code === 'oneNeeded';
}

interface Place {
  pointer: string;
  problems: Problem[];
  /** What joins the keys there. */
  conditions?: readonly Condition[] | undefined;
}

function writeMembers(keys: readonly Key[], draft: Draft, place: Place) {
  const members: Record<string, unknown> = {};
  for (const key of keys) {
    const pointer = pointerTo(place.pointer, key.name);
    const before = place.problems.length;
    const { problems } = place;
    const value = writeValue(key, draft[key.name] ?? '', { pointer, problems });
    const isEmpty = value === undefined && problems.length === before;
    if (value !== undefined) members[key.name] = value;
    else if (isEmpty && key.presence === 'required') {
      const kind = kindOf(key);
      const isChoice = kind === 'choices' || kind === 'list';
      problems.push({ pointer, code: isChoice ? 'chooseOne' : 'required' });
    }
  }
  for (const condition of place.conditions ?? []) {
    if (needsOne(condition) && !isAnswered(condition, members, place)) {
      place.problems.push({ pointer: place.pointer, code: 'oneNeeded' });
    }
  }
  return members;
}

/** Whether one of the keys has a value, or one that is none. No is the default of each boolean among them. */
function isAnswered({ keys }: Condition, members: object, { pointer, problems }: Place): boolean {
  return keys.some((name) => {
    const value = members[name as keyof typeof members] as unknown;
    const at = pointerTo(pointer, name);
    return (value !== undefined && value !== false) || problems.some((one) => one.pointer === at);
  });
}

/** Undefined where nothing is filled in, or what is filled in is no value. */
function writeValue(key: Key, value: DraftValue, place: Place): unknown {
  switch (kindOf(key)) {
    case 'dictionary':
      return writeDictionary(key, value as Draft, place);
    case 'list':
      return writeList(key, value as readonly Entry[], place);
    case 'choices':
      return writeItems(key, value as readonly string[], place);
    case 'lines':
      return writeItems(key, linesOf(value as string), place);
    default:
      return value === '' ? undefined : writeText(key, value as string, place);
  }
}

/** An optional one is there as soon as one of its members is. */
function writeDictionary(key: Key, draft: Draft, place: Place): unknown {
  const { keys = [], presence, conditions } = key;
  const own: Problem[] = [];
  const members = writeMembers(keys, draft, { ...place, conditions, problems: own });
  const isEmpty = Object.keys(members).length === 0 && own.every(isMissing);
  if (presence === 'optional' && isEmpty) return undefined;
  place.problems.push(...own);
  return members;
}

function writeList(key: Key, entries: readonly Entry[], place: Place): unknown {
  const { items = [], conditions } = key;
  const written = entries.map(({ kind, draft }, index) => {
    const { keys = [] } = items.find(({ name }) => name === kind) ?? {};
    const pointer = pointerTo(place.pointer, index);
    return writeMembers(keys, draft, { ...place, conditions, pointer });
  });
  return counted(key, written, place);
}

function writeItems(key: Key, items: readonly string[], place: Place): unknown {
  return counted(key, items, place);
}

function counted(key: Key, items: readonly unknown[], { pointer, problems }: Place): unknown {
  if (items.length === 0) return undefined;
  const { min_items: min = 0, max_items: max = Number.POSITIVE_INFINITY } = key;
  if (items.length < min || items.length > max) {
    problems.push({ pointer, code: 'items', min: key.min_items, max: key.max_items });
  }
  return items;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function writeText(key: Key, text: string, { pointer, problems }: Place): unknown {
  const fail = (problem: Omit<Problem, 'pointer'>) => {
    problems.push({ pointer, ...problem });
    return undefined;
  };
  switch (kindOf(key)) {
    case 'boolean':
      return text === 'true';
    case 'choice':
      return allowedValues(key).find((value) => String(value) === text);
    case 'number':
      return writeNumber(key, text, fail);
    case 'date': {
      const time = Date.parse(text);
      return Number.isNaN(time) ? fail({ code: 'date' }) : new Date(time).toISOString();
    }
    case 'data': {
      const bytes = text.replaceAll(/\s/g, '');
      const isBase64 = bytes.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(bytes);
      return isBase64 ? bytes : fail({ code: 'data' });
    }
    case 'json':
      return writeJson(key, text, fail);
    default: {
      const { format } = key;
      const isMatch = format === undefined || new RegExp(`^(?:${format})$`, 'u').test(text);
      return isMatch ? text : fail({ code: 'format', format });
    }
  }
}

type Fail = (problem: Omit<Problem, 'pointer'>) => undefined;

function writeNumber({ type, min, max }: Key, text: string, fail: Fail): unknown {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return fail({ code: 'number' });
  if (type === 'integer' && !Number.isSafeInteger(value)) return fail({ code: 'integer' });
  const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;
  const isWithin = value >= (min ?? NEGATIVE_INFINITY) && value <= (max ?? POSITIVE_INFINITY);
  return isWithin ? value : fail({ code: 'range', min, max });
}

function writeJson({ type }: Key, text: string, fail: Fail): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fail({ code: 'json' });
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type === 'dictionary' && !isObject) return fail({ code: 'jsonObject' });
  if (type === 'array' && !Array.isArray(value)) return fail({ code: 'jsonList' });
  return value;
}
