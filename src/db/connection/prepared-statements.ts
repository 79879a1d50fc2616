import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Sql } from './statement-runner.js';

/** A text is prepared from this use on: many texts with filters and fieldsets are used only once. */
const USES_BEFORE = 3;
/** Texts whose uses are counted. */
const MAX_TEXTS = 500;
/** A statement over all columns of a device takes 0.25 MB of its backend. */
const MAX_ON_CONNECTION = 100;

interface KnownText {
  /** With PostgreSQL's placeholders. */
  text: string;
  name: string;
  uses: number;
}

/** What the driver is given besides the values; without a name it is planned anew. */
export type NamedText = Pick<KnownText, 'text'> & { name?: string };

const texts = new LRUCache<string, KnownText>({ max: MAX_TEXTS });

/** The names prepared on each connection, least recently used first. */
const namesOn = new WeakMap<object, Set<string>>();

/** The driver stores texts by name, and does not send a stored one again. */
interface DriverConnection {
  connection: { parsedStatements: Record<string, string> };
}

/**
 * The text under the name by which this connection has it prepared, or prepares it now. Awaited before
 * each use of the connection, so that no more than MAX_ON_CONNECTION stay prepared on it.
 */
export async function namedText(client: pg.ClientBase, text: string): Promise<NamedText> {
  const known = knownText(text);
  known.uses += 1;
  if (known.uses < USES_BEFORE) return { text: known.text };
  const names = namesOn.get(client) ?? new Set<string>();
  namesOn.set(client, names);
  if (!names.delete(known.name) && names.size >= MAX_ON_CONNECTION) {
    await forgetOldest(client, names);
  }
  names.add(known.name);
  return { text: known.text, name: known.name };
}

function knownText(text: string): KnownText {
  const known = texts.get(text);
  if (known !== undefined) return known;
  const name = `t_${createHash('sha256').update(text).digest('base64url').slice(0, 22)}`;
  const made = { text: numbered(text), name, uses: 0 };
  texts.set(text, made);
  return made;
}

async function forgetOldest(client: pg.ClientBase, names: Set<string>): Promise<void> {
  const [oldest] = names;
  if (oldest === undefined) return;
  const { parsedStatements } = (client as unknown as DriverConnection).connection;
  // A statement that failed before it was prepared is unknown to PostgreSQL, too.
  if (parsedStatements[oldest] !== undefined) await client.query(`deallocate "${oldest}"`);
  names.delete(oldest);
  delete parsedStatements[oldest];
}

/** Replaces Knex's placeholders by PostgreSQL's; `\?` is the operator `?`. */
export function numbered(text: string): string {
  let count = 0;
  return text.replace(/\\?\?/g, (place) => {
    if (place.length > 1) return '?';
    count += 1;
    return `$${count}`;
  });
}

/** The parts of Knex's client that its types leave open. */
interface KnexClient {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
  emit(event: 'query', query: { sql: string; bindings: unknown[] }): void;
  query(
    connection: pg.Client,
    query: { sql: string; bindings: unknown[]; options: { name?: string } },
  ): Promise<{ response: pg.QueryResult }>;
}

/** One statement in a transaction, or on any connection of Knex. Rejects with the driver's error. */
export async function runPrepared<Row>(knex: Knex, { text, bindings }: Sql): Promise<Row[]> {
  const client = knex.client as KnexClient;
  const connection = await client.acquireConnection();
  try {
    const { text: sql, name } = await nameIn(knex, connection, text);
    const options = name === undefined ? {} : { name };
    if (knex.isTransaction === true) {
      const { response } = await client.query(connection, { sql, bindings, options });
      return response.rows as Row[];
    }
    // Outside of a transaction Knex would only look for placeholders once more.
    client.emit('query', { sql, bindings });
    const { rows } = await connection.query({ text: sql, values: bindings, ...options });
    return rows as Row[];
  } finally {
    await client.releaseConnection(connection);
  }
}

/** The same on a connection of the device path, for a statement that waits for no lock. */
export async function runOnPool<Row>(
  { pool, namedStatements }: { pool: pg.Pool; namedStatements: boolean },
  { text, bindings }: Sql,
): Promise<Row[]> {
  if (!namedStatements) return (await pool.query({ text: numbered(text), values: bindings })).rows;
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    return (await client.query({ ...(await namedText(client, text)), values: bindings })).rows;
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.release(failure);
  }
}

function nameIn(knex: Knex, connection: pg.Client, text: string): Promise<NamedText> | NamedText {
  const { namedStatements } = knex.userParams as KnexParameters;
  return namedStatements ? namedText(connection, text) : { text: numbered(text) };
}

/** Settings that `connectDatabase` gives to Knex, and Knex to its transactions. */
export interface KnexParameters {
  namedStatements: boolean;
}
