import type { Knex } from 'knex';
import type { Database } from '../connection/database.js';
import { toAppError } from '../connection/sqlstate.js';
import { runTransaction, type Transaction } from '../connection/unit-of-work.js';
import { writeMasterKeyCheck } from './certificate-repository.js';
import type { SealedPlace } from './sealed-places.js';

type Key = number | string;

export interface SealedValue {
  key: Key;
  sealed: Buffer;
  seal_label: string;
}

/** A setting that exists while only some of the sealed values are under the new key. */
export interface StoredRotation {
  /** The check of the master key, sealed under the new key. */
  check: Buffer;
  startedAt: Date;
}

const ROTATION = 'master_key_rotation';
const CHANGE = 'master_key_change';
const MAX_ROWS = 500;
/** Sealed bytes in memory at once. */
const MAX_BYTES = 16 * 1024 * 1024;
/** `MSB1`: the first bytes of sealed values. The columns of commands hold plain plists, too. */
const MAGIC = String.raw`'\x4d534231'::bytea`;

/** Finding sparse rows in a table of many millions exceeds the usual statement timeout. */
const LONG_TIMEOUT = "set local statement_timeout = '15min'";
/** Reads by key, even if the statistics of a freshly written table suggest a scan. */
const BY_INDEX = 'set local enable_seqscan = off; set local enable_bitmapscan = off';

/** Returns the values to write instead of those in the batch, by their keys. */
export type Reseal = (values: SealedValue[]) => Pick<SealedValue, 'key' | 'sealed'>[];

/**
 * Calls `work` with every sealed value of a place, in batches by key that are bounded in rows and
 * octets, and writes what it returns in the transaction of the batch. Database errors become
 * AppErrors.
 */
export async function eachSealedBatch(
  { knex }: Database,
  place: SealedPlace,
  work: Reseal,
): Promise<void> {
  let after: Key | undefined = place.key.type === 'text' ? '' : 0;
  while (after !== undefined) {
    const start: Key = after;
    after = await runTransaction(knex, async (trx) => {
      const found = await readBatch(trx, place, start);
      const changed = work(found);
      if (changed.length > 0) {
        const keys = changed.map(({ key }) => String(key));
        const values = changed.map(({ sealed }) => `\\x${sealed.toString('hex')}`);
        await trx.raw(update(place), [keys, values]);
      }
      return found.at(-1)?.key;
    }).catch((error: unknown) => {
      throw toAppError(error);
    });
  }
}

/** How many values of a place are sealed. */
export async function countSealed({ knex }: Database, place: SealedPlace): Promise<number> {
  return await runTransaction(knex, async (trx) => {
    await trx.raw(LONG_TIMEOUT);
    const { rows } = await trx.raw<{ rows: { count: number }[] }>(
      `select count(*) from ${place.table} t where ${isSealed(place)}`,
    );
    return rows[0]?.count ?? 0;
  });
}

/** undefined while every value is sealed under one key. */
export async function readRotation(knex: Knex): Promise<StoredRotation | undefined> {
  const row = await knex('server_settings')
    .where({ name: ROTATION })
    .first<{ value: { check: string; started_at: string } } | undefined>('value');
  if (row === undefined) return undefined;
  const { check, started_at } = row.value;
  return { check: Buffer.from(check, 'base64'), startedAt: new Date(started_at) };
}

/** Marks a rotation as begun. A second one violates a unique key. */
export async function writeRotation(knex: Knex, { check, startedAt }: StoredRotation) {
  const value = { check: check.toString('base64'), started_at: startedAt.toISOString() };
  await knex('server_settings').insert({ name: ROTATION, value: JSON.stringify(value) });
}

/** Ends a rotation that has resealed nothing, or everything. */
export async function deleteRotation(knex: Knex): Promise<void> {
  await knex('server_settings').where({ name: ROTATION }).delete();
}

/** The last rotation, by the ids of the keys, which are no secrets. */
export interface MasterKeyChange {
  former: string;
  present: string;
  changedAt: Date;
}

/** The last change of the master key; undefined when there was none. */
export async function readMasterKeyChange(knex: Knex): Promise<MasterKeyChange | undefined> {
  const row = await knex('server_settings')
    .where({ name: CHANGE })
    .first<{ value: { former: string; present: string }; updated_at: Date } | undefined>();
  return row && { ...row.value, changedAt: row.updated_at };
}

/** Call it in the transaction that makes the new key the database's. */
export async function writeMasterKeyChange(
  trx: Transaction,
  { former, present, changedAt }: MasterKeyChange,
): Promise<void> {
  const value = JSON.stringify({ former, present });
  await trx('server_settings')
    .insert({ name: CHANGE, value, updated_at: changedAt })
    .onConflict('name')
    .merge();
}

/** Makes the new key the database's: replaces the check and ends the rotation. */
export async function finishRotation(trx: Transaction, check: Buffer): Promise<void> {
  await trx('server_settings').where({ name: 'master_key_check' }).delete();
  await writeMasterKeyCheck(trx, check);
  await deleteRotation(trx);
}

async function readBatch(trx: Transaction, place: SealedPlace, after: Key): Promise<SealedValue[]> {
  await trx.raw(`${LONG_TIMEOUT}; ${BY_INDEX}`);
  const found = await trx.raw<{ rows: { last: Key | null }[] }>(batchEnd(place), [after]);
  const last = found.rows[0]?.last ?? null;
  if (last === null) return [];
  const { rows } = await trx.raw<{ rows: SealedValue[] }>(batch(place), [after, last]);
  return rows;
}

/** The last key of the next batch, which is bounded in rows and in octets. */
function batchEnd(place: SealedPlace): string {
  const { table, key, read } = place;
  return `
with found as (
  select t.${key.column} as key, octet_length(${read})::bigint as size
  from ${table} t where t.${key.column} > ?::${key.type} and ${isSealed(place)}
  order by 1 limit ${MAX_ROWS}
), summed as (
  select key, sum(size) over (order by key) - size as before from found
)
select max(key) as last from summed where before < ${MAX_BYTES}`;
}

function isSealed({ read }: SealedPlace): string {
  return `substring(${read} from 1 for 4) = ${MAGIC}`;
}

function batch(place: SealedPlace): string {
  const { table, key, read, sealLabel } = place;
  return `
select t.${key.column} as key, ${read} as sealed, ${sealLabel} as seal_label
from ${table} t
where t.${key.column} > ?::${key.type} and t.${key.column} <= ?::${key.type} and ${isSealed(place)}
order by 1`;
}

function update({ table, key, write }: SealedPlace): string {
  return `
update ${table} t set ${write}
from unnest(?::${key.type}[], ?::bytea[]) as v (key, sealed) where t.${key.column} = v.key`;
}
