import pg from 'pg';
import { openEmbedded } from '../../src/embedded-postgres/open-embedded.js';
import { createLogger } from '../../src/logger.js';

/** The rows of a query to the embedded PostgreSQL of a server that runs. */
export async function queryEmbedded<Row extends pg.QueryResultRow>(
  dataDir: string,
  text: string,
): Promise<Row[]> {
  const logger = createLogger('silent');
  const { connection } = await openEmbedded({ dataDir, mode: 'use', logger });
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
