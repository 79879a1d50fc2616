import { PROFILE_VALUES } from '../assignments/profile-values-sql.js';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Transaction } from '../connection/unit-of-work.js';
import { REQUEST_AGAIN } from '../push/push-enqueue.js';
import { type Batch, findBatch } from './batch-repository.js';
import { type BatchFacts, type FactNeeds, factNames, factSql } from './batch-targets.js';

/** Some devices of a batch whose commands are to be queued. */
export interface Slice {
  batch: Batch;
  number: number;
  /** Devices in every slice of the batch but the last. */
  size: number;
  deviceIds: number[];
  /** The user of each device that the command is for; null: of a batch that decides by itself. */
  userIds: (number | null)[] | null;
}

const CLAIM = `
delete from command_batch_slices where (command_batch_id, number) in (
  select command_batch_id, number from command_batch_slices
  where (command_batch_id || '/' || number) <> all(?::text[])
  order by command_batch_id, number limit 1 for update skip locked)
returning command_batch_id, number, size, device_ids, device_user_ids`;

interface SliceRow {
  command_batch_id: number;
  number: number;
  size: number;
  device_ids: number[];
  device_user_ids: (number | null)[] | null;
}

/** Claims the next slice; the commit deletes it. `except`: slices that have failed, as `batch/number`. */
export async function claimSlice(
  trx: Transaction,
  except: readonly string[],
): Promise<Slice | undefined> {
  const [row] = await runPrepared<SliceRow>(trx, { text: CLAIM, bindings: [[...except]] });
  const batch = row && (await findBatch(trx, row.command_batch_id));
  if (row === undefined || batch === undefined) return undefined;
  const { number, size, device_ids: deviceIds, device_user_ids: userIds } = row;
  return { batch, number, size, deviceIds, userIds };
}

export type SliceGroup = BatchFacts & { ids: number[] };

/** The devices by their facts; keeps them from being deleted until the commit. */
export async function readSliceGroups(
  trx: Transaction,
  ids: readonly number[],
  needs: FactNeeds,
): Promise<SliceGroup[]> {
  const facts = factSql(needs);
  return await runPrepared<SliceGroup>(trx, {
    text: `
with target as materialized (
  select ${facts.text} from devices t0 where t0.id = any(?::bigint[]) for key share of t0
)
select ${factNames}, array_agg(id order by id) as ids from target group by ${factNames}`,
    bindings: [...facts.bindings, [...ids]],
  });
}

export type SliceRowFacts = BatchFacts & { id: number; values: Record<string, string> | null };

/** The same, device by device, with the values of the variables. */
export async function readSliceRows(
  trx: Transaction,
  ids: readonly number[],
  needs: FactNeeds,
): Promise<SliceRowFacts[]> {
  const facts = factSql(needs);
  return await runPrepared<SliceRowFacts>(trx, {
    text: `
select ${facts.text}, x.payload_values as values
from devices t0 cross join lateral (select t0.id as device_id) w
cross join (select cardinality(n.names) > 0 as is_rendered, n.names as variables
  from (select ?::text[] as names) n) v
cross join ${PROFILE_VALUES} x
where t0.id = any(?::bigint[]) order by t0.id for key share of t0`,
    bindings: [...facts.bindings, [...needs.variables], [...ids]],
  });
}

/** Users of these devices that are enrolled. */
export async function readUsers(
  trx: Transaction,
  deviceIds: readonly number[],
): Promise<{ id: number; device_id: number }[]> {
  return await runPrepared(trx, {
    text: `select id, device_id from device_users
where device_id = any(?::bigint[]) and is_enrolled order by id`,
    bindings: [[...deviceIds]],
  });
}

/** The command of some devices of a slice. */
export interface Variant {
  /** The plist with zeros for the CommandUUID; null: `sha256` names a shared payload. */
  body: string | null;
  sha256: Buffer | null;
}

/** A command to queue: for a device, or one of its users. */
export interface BatchTarget {
  deviceId: number;
  userId: number | null;
  /** Place among the variants. */
  variant: number;
  after: Date | null;
}

// One statement. A device that has unenrolled meanwhile gets none. Pushes are requested when it can be sent.
const QUEUE = `
with variant as (
  select * from unnest(?::text[], ?::bytea[]) with ordinality as v (body, sha256, n)
), due as (
  select t.device_id, t.device_user_id, t.at, v.body, v.sha256, i.uuid
  from unnest(?::bigint[], ?::bigint[], ?::integer[], ?::timestamptz[])
    as t (device_id, device_user_id, n, at)
  join variant v on v.n = t.n + 1
  join devices d on d.id = t.device_id and d.enrollment_state = 'enrolled'
  cross join lateral (select ordered_uuid() as uuid where t.device_id is not null) i
), queued as (
  insert into commands (uuid, device_id, device_user_id, request_type, payload, payload_sha256, after,
    command_batch_id, priority, ttl, expires_at)
  select due.uuid, due.device_id, due.device_user_id, b.request_type,
    convert_to(replace(due.body, '00000000-0000-0000-0000-000000000000', due.uuid::text), 'UTF8'),
    due.sha256, due.at, b.id, coalesce(b.priority, 0), coalesce(b.ttl, 5), b.expires_at
  from due cross join command_batches b where b.id = ?
  order by due.device_id, due.device_user_id
  returning device_id, device_user_id, after
), pushed as (
  insert into device_pushes as p (device_id, due_at)
  select r.id, greatest(now(), coalesce(q.after, now()))
  from queued q join devices r on r.id = q.device_id
  where q.device_user_id is null and r.is_enrolled and r.sealed_push is not null and r.push_state = 'ok'
  order by r.id
  on conflict (device_id) ${REQUEST_AGAIN}
), users_pushed as (
  insert into user_pushes as p (device_user_id, due_at)
  select r.id, greatest(now(), coalesce(q.after, now()))
  from queued q join device_users r on r.id = q.device_user_id join devices d on d.id = r.device_id
  where r.is_enrolled and d.is_enrolled and r.sealed_push is not null and r.push_state = 'ok'
  order by r.id
  on conflict (device_user_id) ${REQUEST_AGAIN}
)
select count(*)::integer as count from queued`;

/** Queues the commands and requests the pushes. Returns how many it queued. */
export async function queueCommands(
  trx: Transaction,
  batchId: number,
  { variants, targets }: { variants: readonly Variant[]; targets: readonly BatchTarget[] },
): Promise<number> {
  if (targets.length === 0) return 0;
  const rows = await runPrepared<{ count: number }>(trx, {
    text: QUEUE,
    bindings: [
      variants.map(({ body }) => body),
      variants.map(({ sha256 }) => sha256),
      targets.map(({ deviceId }) => deviceId),
      targets.map(({ userId }) => userId),
      targets.map(({ variant }) => variant),
      targets.map(({ after }) => after),
      batchId,
    ],
  });
  return rows[0]?.count ?? 0;
}
