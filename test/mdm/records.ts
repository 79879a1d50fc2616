import type { TestApp } from '../helpers/app.js';
import { deviceKeys, issueIdentity, type TestDevice } from '../helpers/device.js';

/** What the database and the CA of the app hold; the app may be made after this is called. */
export function recordsOf(app: () => TestApp) {
  const rowOf = ({ udid }: TestDevice) =>
    app().db.knex('devices').whereRaw('lower(udid) = lower(?)', [udid]).first();
  return {
    rowOf,
    newIdentity: async () => issueIdentity(app().authority, await deviceKeys()),
    async commandsOf(device: TestDevice) {
      const { id } = await rowOf(device);
      return app()
        .db.knex('commands')
        .where({ device_id: id })
        .orderBy('id')
        .select('request_type', 'status', 'reason');
    },
    pinOf({ certificate }: TestDevice) {
      const { fingerprint } = certificate;
      return app().db.knex('device_identities').where({ fingerprint }).first();
    },
  };
}
