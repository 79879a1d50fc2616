import type { Transaction } from '../connection/unit-of-work.js';

/** Values of a new row of `command_batches`. */
export interface NewBatch {
  uuid: string;
  name: string | null;
  request_type: string;
  /** JSON, sealed when it holds a secret. */
  parameters: Buffer;
  profile_id: number | null;
  priority: number | null;
  ttl: number | null;
  after: Date | null;
  expires_at: Date | null;
  /** Seconds. */
  spread: number;
  /** JSON text. */
  filter: string | null;
  retry_of_id: number | null;
  created_by: string;
}

export type BatchState = 'expanding' | 'running' | 'finished' | 'cancelled';

/** A row of `command_batches`, as far as it is read by name. */
export interface Batch extends Omit<NewBatch, 'filter'> {
  id: number;
  state: BatchState;
  matched: number;
  starts_at: Date;
}

const COLUMNS = [
  ...([
    'id',
    'uuid',
    'name',
    'request_type',
    'parameters',
    'profile_id',
    'priority',
    'ttl',
  ] as const),
  ...(['after', 'expires_at', 'spread', 'retry_of_id', 'created_by', 'state', 'matched'] as const),
  'starts_at',
] as const;

/** Devices that a batch refused for one reason. */
export interface Refused {
  code: string;
  count: number;
  /** Ids of the first of them. */
  examples: number[];
}

/** What is left out of the command of some devices. */
export interface LeftOut {
  name: string;
  count: number;
  examples: number[];
}

/** What became of devices. */
export interface Targets {
  matched: number;
  eligible: number;
  reduced: number;
  left_out: LeftOut[];
  refused: Refused[];
}

/** Named by the request, to be shown with the batch. */
export interface NamedTargets {
  deviceIds: readonly number[];
  tagIds: readonly number[];
  groupIds: readonly number[];
}

export async function insertBatch(trx: Transaction, values: NewBatch): Promise<number> {
  const [row] = await trx('command_batches')
    .insert({ ...values, matched: 0, starts_at: values.after ?? trx.fn.now() })
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('insert into command_batches returned no row');
  return row.id;
}

const LINKS = [
  ['command_batch_devices', 'device_id', 'deviceIds'],
  ['command_batch_tags', 'tag_id', 'tagIds'],
  ['command_batch_device_groups', 'device_group_id', 'groupIds'],
] as const;

/** Stores the devices, tags and groups that the request named. */
export async function linkTargets(
  trx: Transaction,
  batchId: number,
  named: NamedTargets,
): Promise<void> {
  for (const [table, column, list] of LINKS) {
    if (named[list].length === 0) continue;
    const text = `insert into ${table} (command_batch_id, ${column})
      select ?, id from unnest(?::bigint[]) as id order by id on conflict do nothing`;
    await trx.raw(text, [batchId, [...named[list]]]);
  }
}

/** The batch, locked; undefined if unknown. */
export async function lockBatch(trx: Transaction, id: number): Promise<Batch | undefined> {
  return trx<Batch>('command_batches')
    .where({ id })
    .forNoKeyUpdate()
    .first(...COLUMNS);
}

export async function findBatch(trx: Transaction, id: number): Promise<Batch | undefined> {
  return trx<Batch>('command_batches')
    .where({ id })
    .first(...COLUMNS);
}

/** What is known of the targets before the commands are queued. */
export async function storeTargets(
  trx: Transaction,
  id: number,
  { matched, eligible, reduced, left_out, refused }: Targets,
): Promise<void> {
  const json = { left_out: JSON.stringify(left_out), refused: JSON.stringify(refused) };
  await trx('command_batches')
    .where({ id })
    .update({ matched, eligible, reduced, ...json });
}

export async function findRetry(trx: Transaction, id: number): Promise<number | undefined> {
  const row = await trx('command_batches').where({ retry_of_id: id }).first<{ id: number }>('id');
  return row?.id;
}

/** Nothing more is queued for the batch. Its pending commands are cancelled by `cancelCommands`. */
export async function stopBatch(trx: Transaction, id: number): Promise<void> {
  await trx('command_batch_slices').where({ command_batch_id: id }).delete();
  await trx('command_batches').where({ id }).update({ state: 'cancelled' });
}

const CANCEL = `
with unsent as (
  select id from commands
  where command_batch_id = :batch and is_pending and id > :after
  order by id limit :limit for update skip locked
), cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 'its batch was cancelled'
  from unsent u where c.id = u.id
)
select count(*)::integer as count, max(id) as last from unsent`;

/** Cancels pending commands of a batch, the next ones after an id. Returns how many, and the last id. */
export async function cancelCommands(
  trx: Transaction,
  batch: number,
  { after = 0, limit }: { after?: number; limit: number },
): Promise<{ count: number; last: number }> {
  const { rows } = await trx.raw<{ rows: { count: number; last: number | null }[] }>(CANCEL, {
    batch,
    after,
    limit,
  });
  return { count: rows[0]?.count ?? 0, last: rows[0]?.last ?? after };
}

const HAS_SLICES = `exists (
    select from command_batch_slices s where s.command_batch_id = b.id)`;

/**
 * Adds what became of a slice to its batch. With the last slice the batch has what was found instead of what was
 * foreseen.
 */
export async function noteSlice(
  trx: Transaction,
  batchId: number,
  { queued, merge }: { queued: number; merge: (found: Targets | null) => Targets },
): Promise<void> {
  const row = await trx('command_batches')
    .where({ id: batchId })
    .forNoKeyUpdate()
    .first<{ found: Targets | null }>('found');
  if (row === undefined) return;
  const found = merge(row.found);
  const json = JSON.stringify(found);
  await trx.raw(
    `
update command_batches b set queued = b.queued + ?, found = ?::jsonb
where b.id = ?`,
    [queued, json, batchId],
  );
  await trx.raw(
    `
update command_batches b set expanded_at = now(),
  state = case when b.state = 'expanding' then 'running' else b.state end,
  eligible = ?, reduced = ?, left_out = ?::jsonb, refused = ?::jsonb, found = null
where b.id = ? and not ${HAS_SLICES}`,
    [
      ...[found.eligible, found.reduced],
      ...[JSON.stringify(found.left_out), JSON.stringify(found.refused), batchId],
    ],
  );
}
