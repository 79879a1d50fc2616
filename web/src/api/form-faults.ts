import { asSentence, faultWords } from '../text/own-words';
import { ApiError } from './errors';

/** What the API says of one attribute of a form. */
export function faultAt(error: unknown, name: string): string | undefined {
  return pointed(error).find(({ field }) => field === name)?.detail;
}

/** What it says of a form that has one field, which a refusal concerns in any case. */
export function onlyFault(error: unknown, name: string): string | undefined {
  const isRefused = error instanceof ApiError && error.status < 500;
  return faultAt(error, name) ?? (isRefused ? asSentence(error.message) : undefined);
}

/** What it says of anything else. */
export function otherFault(error: unknown, names: readonly string[]): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const found = pointed(error);
  const isShown = found.length > 0 && found.every(({ field }) => names.includes(field));
  return isShown ? undefined : error;
}

function pointed(error: unknown): { field: string; detail: string }[] {
  if (!(error instanceof ApiError)) return [];
  return error.faults.map(({ source, detail, title }) => {
    const field = /([^/]+)$/.exec(source?.pointer ?? '')?.[1] ?? '';
    return { field, detail: faultWords(field, detail ?? title ?? error.message) };
  });
}
