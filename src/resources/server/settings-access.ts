import type { Access } from '../../jsonapi/definition/definition.js';

/** Settings of the whole server: seen by all who may read, written by admins. */
export const adminSettings: Access = {
  read: 'viewer',
  create: null,
  update: 'admin',
  delete: null,
};
