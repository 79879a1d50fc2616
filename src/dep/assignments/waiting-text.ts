import { DepError } from '../client/dep-error.js';
import { wordsOf } from '../sync/sync-retry.js';

/** To the second. */
function timeOf(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Of serial numbers of which Apple could not be told, for the admin; null: leave what was said. */
export function waitingWords(error: unknown, again: Date | null): string | null {
  if (!(error instanceof DepError)) return null;
  const words = wordsOf(error);
  if (again === null) return `Apple can't be told before somebody acts (${words}): see the account`;
  if (error.kind === 'throttled') return `Apple asks to wait until ${timeOf(again)}`;
  return `Apple's service could not be used (${words}): it is told again at ${timeOf(again)}`;
}

/** Of serial numbers whose profile Apple does not know; `again` is null where it is defined anew. */
export function unknownProfileWords(name: string, again: Date | null): string {
  const then = again === null ? 'it is defined anew' : `it is told again at ${timeOf(again)}`;
  return `Apple no longer knows the definition of profile '${name}'; ${then}`;
}
