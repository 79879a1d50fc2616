import type { Readable } from 'node:stream';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { AppError } from '../../errors.js';
import type { Database } from '../connection/database.js';
import {
  JOBS,
  LEFT_OUT,
  NO_LIMITS,
  quoted,
  SELECT_JOBS,
  setLocal,
  TEXT_SETTINGS,
} from './backup-tables.js';

/** A table with the columns that are stored, without those that are computed. */
export interface TableColumns {
  name: string;
  columns: string[];
}

export interface TableCopy extends TableColumns {
  /** Format of COPY. Binary halves the size of bytea values and needs no parsing. */
  rowFormat: 'text' | 'binary';
}

export interface RowsOut {
  /** The rows in COPY's format. */
  stream: Readable;
  /** After the end of the stream. */
  countRows(): Promise<number>;
}

export interface SequenceValue {
  name: string;
  last_value: number;
}

const READ_AHEAD_BYTES = 256 * 1024;

const TABLES = `
select c.relname as name,
  array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all($1)
  and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
group by c.relname order by c.relname`;

const SEQUENCES = `
select sequencename::text as name, last_value from pg_sequences
where schemaname = 'public' and last_value is not null and sequencename not like 'knex%'
order by sequencename`;

/** A consistent state of the whole database. Others read and write meanwhile. */
export class Snapshot {
  readonly #client: pg.Client;
  /** By name; the jobs last. */
  readonly tables: readonly TableCopy[];
  readonly serverVersion: string;
  /** The process of PostgreSQL that reads. */
  readonly backendPid: number;
  readonly migrations: readonly string[];

  private constructor(
    client: pg.Client,
    {
      tables,
      serverVersion,
      backendPid,
      migrations,
    }: Pick<Snapshot, 'tables' | 'serverVersion' | 'backendPid' | 'migrations'>,
  ) {
    this.#client = client;
    this.tables = tables;
    this.serverVersion = serverVersion;
    this.backendPid = backendPid;
    this.migrations = migrations;
  }

  /**
   * Uses a separate connection. AppError conflict if a migration runs meanwhile, or locks a table for
   * longer than 10 seconds.
   */
  static async open(db: Database): Promise<Snapshot> {
    const client = db.createClient();
    // The statement under way rejects with the same error.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return await Snapshot.#begin(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  static async #begin(client: pg.Client): Promise<Snapshot> {
    const before = await tablesOf(client);
    await client.query(
      `begin isolation level repeatable read read only;
      ${setLocal({ ...NO_LIMITS, ...TEXT_SETTINGS, lock_timeout: "'10s'" })}`,
    );
    // The first query fixes what is seen. A table changed after that would be copied as it is then.
    const names = before.map(({ name }) => `public.${quoted(name)}`).join(', ');
    if (before.length > 0) await client.query(`lock table ${names} in access share mode`);
    const tables = await tablesOf(client);
    if (JSON.stringify(tables) !== JSON.stringify(before)) throw migrating();
    const { rows } = await client.query<{ name: string }>(
      'select name from public.knex_migrations order by id',
    );
    const server = await client.query<{ version: string; pid: number }>(
      "select current_setting('server_version') as version, pg_backend_pid() as pid",
    );
    const [{ version, pid } = { version: '', pid: 0 }] = server.rows;
    return new Snapshot(client, {
      tables: [...tables.map((table) => ({ ...table, rowFormat: 'binary' as const })), JOBS],
      serverVersion: version,
      backendPid: pid,
      migrations: rows.map(({ name }) => name),
    });
  }

  /** One table at a time. */
  copyOut({ name, columns, rowFormat }: TableCopy): RowsOut {
    const list = columns.map(quoted).join(', ');
    const what = name === JOBS.name ? `(${SELECT_JOBS})` : `public.${quoted(name)} (${list})`;
    const stream = this.#client.query(
      copyTo(`copy ${what} to stdout (format ${rowFormat})`, { highWaterMark: READ_AHEAD_BYTES }),
    );
    return {
      stream,
      countRows: async () => {
        // The count comes after the last row; so does the answer to the next statement.
        await this.#client.query('select');
        return stream.rowCount;
      },
    };
  }

  /** Their present values, which are at least those that the snapshot needs. */
  async sequences(): Promise<SequenceValue[]> {
    return (await this.#client.query<SequenceValue>(SEQUENCES)).rows;
  }

  /** Sealed bytes that only the right master key opens; undefined without secrets. */
  async masterKeyCheck(): Promise<Buffer | undefined> {
    const { rows } = await this.#client.query<{ sealed: string }>(
      "select value ->> 'sealed' as sealed from public.server_settings where name = 'master_key_check'",
    );
    return rows[0] && Buffer.from(rows[0].sealed, 'base64');
  }

  /** Ends the transaction, or a copy under way. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}

async function tablesOf(client: pg.Client): Promise<TableColumns[]> {
  return (await client.query<TableColumns>(TABLES, [[...LEFT_OUT]])).rows;
}

function migrating(): AppError {
  return new AppError('conflict', 409, 'the database is being migrated: try again afterwards');
}
