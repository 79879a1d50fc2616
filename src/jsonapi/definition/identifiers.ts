import { AppError, type ErrorDetail } from '../../errors.js';
import { parseId } from './values.js';

/** Most identifiers that one request may name in one relationship. */
export const MAX_IDENTIFIERS = 1000;

export interface IdentifierPlace {
  /** The required type. */
  type: string;
  /** JSON pointer of the linkage. */
  at: string;
  faults: ErrorDetail[];
}

/**
 * The id of one resource identifier; 0, with a fault added, if it is malformed. AppError 409 for an
 * identifier of another type.
 */
export function readIdentifier(value: unknown, { type, at, faults }: IdentifierPlace): number {
  const { type: given, id: givenId } = (value ?? {}) as { type?: unknown; id?: unknown };
  if (typeof given === 'string' && given !== type) {
    const source = { pointer: `${at}/type` };
    throw new AppError('wrong_type', 409, `the type here is "${type}"`, { source });
  }
  const id = parseId(givenId);
  if (given === type && id !== undefined) return id;
  const detail = `expected an identifier {"type": "${type}", "id": …}`;
  faults.push({ detail, source: { pointer: at } });
  return 0;
}

/** The ids of an array of identifiers, each once. */
export function readIdentifiers(value: unknown, place: IdentifierPlace): number[] {
  const { at, faults } = place;
  if (!Array.isArray(value) || value.length > MAX_IDENTIFIERS) {
    const detail = `expected an array of up to ${MAX_IDENTIFIERS} identifiers`;
    faults.push({ detail, source: { pointer: at } });
    return [];
  }
  const ids = value.map((item, index) => readIdentifier(item, { ...place, at: `${at}/${index}` }));
  return [...new Set(ids)];
}

/** Linkage as it was sent, and its JSON pointer. */
export interface SentLinkage {
  data: unknown;
  at: string;
}

/** Finds the JSON pointer of an identifier by its id; that of the linkage for an unknown id. */
export function pointersById({ data, at }: SentLinkage): (id: number) => string {
  const places = new Map<number | undefined, string>();
  if (Array.isArray(data)) {
    for (const [index, item] of data.entries()) {
      const id = parseId((item as { id?: unknown } | null)?.id);
      if (!places.has(id)) places.set(id, `${at}/${index}`);
    }
  }
  return (id) => places.get(id) ?? at;
}
