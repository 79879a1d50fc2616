import knex, { type Knex } from 'knex';

/** What of knex's client stands between a query and the server. */
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
 * The SQL of `work` without a database: every query finds nothing. So of a migration that reads first and
 * decides then, what it does to empty tables. Rejects as `work` does.
 */
export async function recordStatements(work: (recorder: Knex) => unknown): Promise<string[]> {
  const recorder = knex({ client: 'pg' });
  const scripts: string[] = [];
  const driver: Driver = {
    acquireConnection: async () => ({}),
    releaseConnection: async () => undefined,
    _query: async (_connection, query) => {
      scripts.push(query.sql);
      const [command = ''] = query.sql.toUpperCase().split(' ');
      query.response = { rows: [], rowCount: 0, command };
      return query;
    },
  };
  Object.assign(recorder.client, driver);
  await work(recorder);
  return scripts;
}
