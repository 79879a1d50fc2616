import type { Database } from '../../src/db/database.js';

async function tables({ knex }: Database): Promise<string[]> {
  const rows = await knex('pg_tables')
    .where({ schemaname: 'public' })
    .orderBy('tablename')
    .select<{ tablename: string }[]>('tablename');
  return rows.map(({ tablename }) => tablename);
}

/** Every row of every table as JSON text, bytes in hex, times of contact left out. */
export async function dumpRows(db: Database): Promise<Record<string, string[]>> {
  const dump: Record<string, string[]> = {};
  for (const table of await tables(db)) {
    const { rows } = await db.pool.query<{ line: string }>(
      `select (to_jsonb(t) - 'last_seen')::text as line from "${table}" t order by line`,
    );
    dump[table] = rows.map(({ line }) => line);
  }
  return dump;
}

/** Ways in which bytes would show in a dump if they were stored as they are. */
export function spellingsOf(secret: Buffer): string[] {
  const base64 = secret.toString('base64').replace(/=+$/, '');
  // Inside other base64 only the middle is sure, and only at its own offset of three.
  return [
    secret.toString('hex'),
    base64,
    Buffer.from(base64).toString('hex'),
    Buffer.from(secret.toString('hex')).toString('hex'),
  ];
}
