import knex, { type Knex } from 'knex';

/** The methods of knex's client that send a query to the server. */
interface Driver {
  acquireConnection(): Promise<object>;
  releaseConnection(connection: object): Promise<void>;
  _query(connection: object, query: RecordedQuery): Promise<RecordedQuery>;
}

interface RecordedQuery {
  sql: string;
  response?: object;
}

/**
 * The SQL of `work` without a database: every query returns no rows, but the one for the server's version, which is
 * `version`, as in server_version_num. For a migration that reads other rows and decides by them, this is the SQL for
 * empty tables. Rejects if `work` rejects.
 */
export async function recordStatements(
  work: (recorder: Knex) => unknown,
  version: number,
): Promise<string[]> {
  const recorder = knex({ client: 'pg' });
  const scripts: string[] = [];
  const driver: Driver = {
    acquireConnection: async () => ({}),
    releaseConnection: async () => undefined,
    _query: async (_connection, query) => {
      scripts.push(query.sql);
      const [command = ''] = query.sql.toUpperCase().split(' ');
      const rows = query.sql.includes('server_version_num') ? [{ version }] : [];
      query.response = { rows, rowCount: rows.length, command };
      return query;
    },
  };
  Object.assign(recorder.client, driver);
  await work(recorder);
  return scripts;
}
