// Imports with extensions: tests that run in Node read this file, too.
import { constantOf, type Key, kindOf } from './keys.js';

/** A form while it is filled in: what stands in each field. Empty is: not sent. */
export interface Draft {
  readonly [name: string]: DraftValue;
}

export type DraftValue = string | readonly string[] | Draft | readonly Entry[];

/** An element of a list of forms. */
export interface Entry {
  id: number;
  /** The name of its kind among those that the list takes. */
  kind: string;
  draft: Draft;
}

let lastId = 0;

export function newDraft(keys: readonly Key[]): Draft {
  return Object.fromEntries(keys.map((key) => [key.name, emptyValue(key)]));
}

export function newEntry(kind: Key): Entry {
  lastId += 1;
  return { id: lastId, kind: kind.name, draft: newDraft(kind.keys ?? []) };
}

function emptyValue(key: Key): DraftValue {
  switch (kindOf(key)) {
    case 'choices':
    case 'list':
      return [];
    case 'dictionary':
      return newDraft(key.keys ?? []);
    default: {
      const constant = constantOf(key);
      return constant === undefined ? '' : String(constant);
    }
  }
}
