import { type AppError, validationError } from '../../errors.js';
import { pointer } from './pointers.js';

/**
 * Whether JSON text may have a member `__proto__`, perhaps with escapes: those few bodies are searched
 * once they are parsed.
 */
export function mayHaveProtoMember(body: Buffer): boolean {
  return body.includes('__proto__') || body.includes('\\u');
}

/** Attributes and relationships of this name are unknown, and reported with all others. */
const REPORTED = ['/data/attributes/__proto__', '/data/relationships/__proto__'];

/** AppError 422 for a member `__proto__`, which schemas would drop without a word; else undefined. */
export function faultOfProtoMember(value: unknown): AppError | undefined {
  const path = pathToProtoMember(value);
  if (path === undefined) return undefined;
  const source = { pointer: pointer(...path) };
  return validationError([{ detail: '"__proto__" is unknown: no member has this name', source }]);
}

function pathToProtoMember(value: unknown, above: string[] = []): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const path = [...above, name];
    if (name === '__proto__' && !REPORTED.includes(pointer(...path))) return path;
    const below = pathToProtoMember(member, path);
    if (below !== undefined) return below;
  }
  return undefined;
}
