import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/db/connection/database.js';

/** The background work writes there whenever it comes to it. */
const BACKGROUND = [
  ...['change_topics', 'device_pushes', 'server_processes', 'user_pushes'],
  ...['device_reconciliations', 'reconcile_item_marks', 'reconcile_marks'],
  ...['device_clocks', 'device_findings', 'device_health', 'health_marks', 'health_state'],
  'fleet_figures',
];

async function tables({ knex }: Database): Promise<string[]> {
  const rows = await knex('pg_tables')
    .where({ schemaname: 'public' })
    .whereNotIn('tablename', BACKGROUND)
    .orderBy('tablename')
    .select<{ tablename: string }[]>('tablename');
  return rows.map(({ tablename }) => tablename);
}

/** The answers of earlier requests are handled afterwards: their rows would change between two dumps. */
async function answersHandled({ knex }: Database): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const waiting = await knex('commands').where({ needs_handling: true }).first('id');
    if (waiting === undefined) return;
    await sleep(10);
  }
}

/** Every row as JSON text, bytes in hex, without times of contact, health and what pushes leave behind. */
export async function dumpRows(db: Database): Promise<Record<string, string[]>> {
  await answersHandled(db);
  const dump: Record<string, string[]> = {};
  for (const table of await tables(db)) {
    const { rows } = await db.pool.query<{ line: string }>(
      `select (to_jsonb(t) - '{last_seen,last_push_result,health}'::text[])::text as line
       from "${table}" t order by line`,
    );
    dump[table] = rows.map(({ line }) => line);
  }
  return dump;
}

/** How bytes would show in a dump if they were stored as they are, as hex or as base64. */
export function spellingsOf(secret: Buffer): string[] {
  const hex = secret.toString('hex');
  const base64 = [0, 1, 2].map((skipped) =>
    secret
      .subarray(skipped, skipped + 3 * Math.floor((secret.length - skipped) / 3))
      .toString('base64'),
  );
  const texts = [hex, hex.toUpperCase(), ...base64];
  return [...texts, ...texts.map((text) => Buffer.from(text).toString('hex'))];
}

/** A row without what is null or made up by the database, nor noted whenever it comes to it. */
export function facts(row: Record<string, unknown> | undefined): Record<string, unknown> {
  const made = [
    'id',
    'device_id',
    'installed_profile_id',
    'is_pending',
    'created_at',
    'last_seen',
    'last_push_result',
  ];
  const entries = Object.entries(row ?? {}).filter(
    ([name, value]) => value !== null && !made.includes(name),
  );
  return Object.fromEntries(entries);
}
