import type { Knex } from 'knex';
import { type SharedPayload, storeSharedPayloads } from './shared-payloads.js';

/** Above every command that admins queue. */
export const FIRST_PRIORITY = 1_000_000;

/**
 * Below every command that admins queue: sent only when no other command is left for the device, not
 * even one that it answered NotNow.
 */
export const LAST_PRIORITY = -1_000_000;

export interface NewCommand {
  uuid: string;
  device_id: number;
  /** Null or absent: addressed to the device itself. */
  device_user_id?: number | null;
  request_type: string;
  /** Null: `shared` has it. */
  payload: Buffer | null;
  shared?: SharedPayload | undefined;
  /** Only of an inventory that the server queues by itself: SHA-256 of the plist without CommandUUID. */
  scheduled_sha256?: Buffer | undefined;
  is_forced?: boolean | undefined;
  priority?: number | undefined;
  ttl?: number | undefined;
  after?: Date | null | undefined;
  expires_at?: Date | null | undefined;
  command_batch_id?: number | undefined;
}

/** A row of `commands`; only these columns are read by name. */
export type CommandRow = Record<string, unknown> & {
  id: number;
  uuid: string;
  device_id: number;
  device_user_id: number | null;
  request_type: string;
  status: string;
  sent_at: Date | null;
  after: Date | null;
  expires_at: Date | null;
  /** Null for a command whose payload is shared, which holds no secret. */
  payload: Buffer | null;
  /** Not null of a profile that is rendered at delivery. */
  payload_values: unknown;
};

/** The columns of a new row. */
export function commandValues({ shared, ...values }: NewCommand): Record<string, unknown> {
  return shared === undefined ? values : { ...values, payload_sha256: shared.sha256 };
}

export async function insertCommand(trx: Knex.Transaction, command: NewCommand): Promise<number> {
  const [id] = await insertCommands(trx, [command]);
  if (id === undefined) throw new Error('insert into commands returned no row');
  return id;
}

/** Inserts in the order given, in one statement. Returns the ids in that order. */
export async function insertCommands(
  trx: Knex.Transaction,
  commands: NewCommand[],
): Promise<number[]> {
  if (commands.length === 0) return [];
  await storeSharedPayloads(
    trx,
    commands.flatMap(({ shared }) => shared ?? []),
  );
  const rows: { id: number }[] = await trx('commands')
    .insert(commands.map(commandValues))
    .returning('id');
  return rows.map(({ id }) => id);
}

// One look into the index for each device: a join could read all pending commands.
const WAITING_SCHEDULED = `
select d.id as device_id, array(
  select c.scheduled_sha256 from commands c
  where c.device_id = d.id and c.device_user_id is null and c.is_pending
    and c.scheduled_sha256 is not null
) as hashes
from unnest(?::bigint[]) as d (id)`;

/** Those of the commands of which no equal scheduled one waits for their device. */
export async function withoutWaiting(
  trx: Knex.Transaction,
  commands: readonly NewCommand[],
): Promise<NewCommand[]> {
  if (commands.length === 0) return [];
  const devices = [...new Set(commands.map(({ device_id }) => device_id))];
  const { rows } = await trx.raw<{ rows: { device_id: number; hashes: Buffer[] }[] }>(
    WAITING_SCHEDULED,
    [devices],
  );
  const waiting = new Map(rows.map(({ device_id, hashes }) => [device_id, hashes]));
  return commands.filter(({ device_id, scheduled_sha256: own }) => {
    return !waiting.get(device_id)?.some((hash) => own?.equals(hash));
  });
}

/** The row, locked against a device that fetches it at this moment. */
export async function lockCommand(
  trx: Knex.Transaction,
  id: number,
): Promise<CommandRow | undefined> {
  return trx<CommandRow>('commands').where({ id }).forUpdate().first();
}

/** Changes all of them in one statement; the caller has locked them. */
export async function updateCommands(
  trx: Knex.Transaction,
  ids: number[],
  changes: Record<string, unknown>,
): Promise<void> {
  if (ids.length === 0) return;
  await trx('commands').whereIn('id', ids).update(changes);
}

/** Deletes a command that was never sent, with the secret that it would have set. */
export async function deleteCommand(trx: Knex.Transaction, id: number): Promise<void> {
  await trx('device_secrets').where({ command_id: id }).delete();
  await trx('commands').where({ id }).delete();
}

export async function lockCommands(trx: Knex.Transaction, ids: number[]): Promise<CommandRow[]> {
  return trx<CommandRow>('commands').whereIn('id', ids).orderBy('id').forUpdate();
}

const EXPIRE = `
update commands set status = 'Expired', ended_at = now(), reason = 'not answered before expires_at'
where id in (
  select id from commands where is_pending and expires_at <= now()
  order by expires_at limit ? for update skip locked
)`;

/**
 * Expires at most `limit` overdue commands. Returns how many. A command that a report or an admin has
 * locked is left for the next run.
 */
export async function expireOverdue(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(EXPIRE, [limit]);
  return rowCount;
}
