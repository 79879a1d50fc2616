import type { ConnectionSettings } from '../../src/db/connection/database.js';

/** The settings as a URL, for another process or for DATABASE_URL. */
export function connectionUrl(connection: ConnectionSettings): string {
  const { user, password, database, host, port } = connection;
  const encode = encodeURIComponent;
  const credentials = `${encode(user)}:${encode(password)}`;
  if (!host.startsWith('/')) {
    return `postgresql://${credentials}@${host}:${port}/${encode(database)}`;
  }
  return `postgresql://${credentials}@localhost/${encode(database)}?host=${encode(host)}&port=${port}`;
}
