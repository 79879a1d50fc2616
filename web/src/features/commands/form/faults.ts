import { type Fault, isApiError } from '../../../api/errors';
import { commandsText } from '../../../text/commands';
import { faultWords } from '../../../text/own-words';
import type { Problem } from './write-form';

const words = commandsText.problems;
const ATTRIBUTES = '/data/attributes';
const PARAMETERS = `${ATTRIBUTES}/parameters`;

/** What is said at the fields, by their JSON pointers below the parameters. */
export type FieldFaults = ReadonlyMap<string, string>;

export function problemText({ code, min, max, format }: Problem): string {
  switch (code) {
    case 'range':
      return limits(min, max, [words.range, words.atLeast, words.atMost]);
    case 'items':
      return limits(min, max, [words.items, words.itemsAtLeast, words.itemsAtMost]);
    case 'format':
      return words.format(format ?? '');
    default:
      return words[code];
  }
}

type Texts = [
  both: (min: string, max: string) => string,
  least: (min: string) => string,
  most: (max: string) => string,
];

export function limits(
  min: number | undefined,
  max: number | undefined,
  [both, least, most]: Texts,
): string {
  if (min === undefined) return max === undefined ? '' : most(max.toLocaleString('en'));
  if (max === undefined) return least(min.toLocaleString('en'));
  return both(min.toLocaleString('en'), max.toLocaleString('en'));
}

/** The first thing that is wrong with each field. */
export function byPointer(faults: readonly (readonly [string, string])[]): FieldFaults {
  const found = new Map<string, string>();
  for (const [pointer, detail] of faults) if (!found.has(pointer)) found.set(pointer, detail);
  return found;
}

/** What the server says of the parameters. */
export function parameterFaults(error: unknown): (readonly [string, string])[] {
  return faultsOf(error).flatMap((fault) => {
    const { pointer = '' } = fault.source ?? {};
    if (pointer !== PARAMETERS && !pointer.startsWith(`${PARAMETERS}/`)) return [];
    return [[pointer.slice(PARAMETERS.length), fault.detail ?? fault.title ?? ''] as const];
  });
}

/** What it says of one of the options. */
export function optionFault(error: unknown, name: string): string | undefined {
  const pointer = `${ATTRIBUTES}/${name}`;
  const fault = faultsOf(error).find(({ source }) => source?.pointer === pointer);
  const detail = fault?.detail ?? fault?.title;
  return detail && faultWords(name, detail);
}

const OPTIONS = ['name', 'priority', 'after', 'expires_at', 'ttl', 'spread'];

/** What it says of something that is no field of the form. */
export function otherFault(error: unknown, keys: readonly string[]): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const faults = faultsOf(error);
  const isShown = ({ source }: Fault) => {
    const [, name = '', key = ''] = /^\/data\/attributes\/([^/]+)\/?([^/]*)/.exec(
      source?.pointer ?? '',
    ) ?? [''];
    return OPTIONS.includes(name) || (name === 'parameters' && (key === '' || keys.includes(key)));
  };
  return faults.length > 0 && faults.every(isShown) ? undefined : error;
}

function faultsOf(error: unknown): readonly Fault[] {
  return isApiError(error) ? error.faults : [];
}

/** Of the field itself, or of something within it that has no field. */
export function faultAt(faults: FieldFaults, pointer: string): string | undefined {
  const own = faults.get(pointer);
  if (own !== undefined) return own;
  for (const [at, detail] of faults) if (at.startsWith(`${pointer}/`)) return detail;
  return undefined;
}
