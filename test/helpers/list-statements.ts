import type { PoolClient } from 'pg';
import type { Database } from '../../src/db/connection/database.js';

type Released = (error: unknown, client: PoolClient) => void;

/** Reports each statement of the connections for lists until the function returned is called. */
export function noteListStatements({ lists }: Database, note: (sql: string) => void): () => void {
  const { pool } = lists;
  const onAcquire = (client: PoolClient) => {
    const send = client.query.bind(client) as (...given: unknown[]) => unknown;
    const onRelease: Released = (_error, released) => {
      if (released !== client) return;
      Reflect.deleteProperty(client, 'query');
      pool.removeListener('release', onRelease);
    };
    const query = (...given: unknown[]) => {
      const [{ text }] = given as [{ text?: string }];
      if (text !== undefined) note(text);
      return send(...given);
    };
    Object.assign(client, { query });
    pool.on('release', onRelease);
  };
  pool.on('acquire', onAcquire);
  return () => pool.removeListener('acquire', onAcquire);
}
