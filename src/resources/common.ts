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
