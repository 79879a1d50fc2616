import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from '../jsonapi/context.js';
import type { Attribute } from '../jsonapi/definition/attributes.js';
import type { Access } from '../jsonapi/definition/definition.js';
import type { ToOne } from '../jsonapi/definition/shape.js';

/** The device a row belongs to. */
export const device: ToOne = {
  kind: 'toOne',
  type: 'devices',
  column: 'device_id',
  required: true,
  write: 'always',
};

const ALLOWED = '[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\ufffe\\uffff]';
/** Text for a property list, which can't hold control characters. */
export const PLIST_TEXT = new RegExp(`^${ALLOWED}+$`);

export const operatorWrites: Access = {
  read: 'viewer',
  create: 'operator',
  update: 'operator',
  delete: 'operator',
};

export const adminWrites: Access = {
  read: 'viewer',
  create: 'admin',
  update: 'admin',
  delete: 'admin',
};

/** Settings of the whole server: seen by all who may read, written by admins. */
export const adminSettings: Access = {
  read: 'viewer',
  create: null,
  update: 'admin',
  delete: null,
};

/**
 * A service of another module as the resources call it: they pass on the request's transaction
 * without knowing what is inside. Declared as methods, so that the module's own class fits.
 */
export type Service<T> = {
  [Name in keyof T]: T[Name] extends (trx: infer First, ...rest: infer Rest) => infer Result
    ? First extends Transaction
      ? { call(trx: Transaction, ...rest: Rest): Result }['call']
      : T[Name]
    : T[Name];
};

/** The attributes that differ from the row: clients also send back what they read. */
export function changedAttributes(
  row: Record<string, unknown>,
  attributes: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name, value]) => !isDeepStrictEqual(row[name], value)),
  );
}

/** The names of boolean attributes, in their order. */
export function booleansOf(attributes: Record<string, Attribute>): string[] {
  return Object.keys(attributes).filter((name) => attributes[name]?.kind === 'boolean');
}
