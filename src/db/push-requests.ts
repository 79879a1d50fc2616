import type { Knex } from 'knex';

export interface PushRequestOptions {
  /** When what waits can be given to the device; now unless told. */
  at?: Date | null | undefined;
  /** The push goes out at a random moment of this span, so that many don't come at once. */
  spreadMs?: number;
}

/**
 * A push under way keeps its claim: whoever claimed the row sees by requested_at that another push
 * has to follow. Both statements that make rows share this.
 */
export const REQUEST_AGAIN = `do update set
    requested_at = clock_timestamp(),
    attempts = 0,
    due_at = case when p.claimed_at is null then least(p.due_at, excluded.due_at) else p.due_at end`;

const REQUEST = `
insert into device_pushes as p (device_id, due_at)
select d.id,
  greatest(now(), coalesce(:at::timestamptz, now())) + random() * :spread * interval '1 ms'
from devices d
where d.id = any(:ids::bigint[])
  and d.is_enrolled and d.sealed_push is not null and d.push_state = 'ok'
order by d.id
on conflict (device_id) ${REQUEST_AGAIN}`;

/**
 * Notes that these devices are to be pushed, in the transaction that gives them something to fetch.
 * One statement; rows are locked in the order of their ids. Devices that can't be pushed are left
 * out: their next TokenUpdate asks for the push.
 */
export async function requestPushes(
  trx: Knex.Transaction,
  deviceIds: readonly number[],
  { at = null, spreadMs = 0 }: PushRequestOptions = {},
): Promise<void> {
  if (deviceIds.length === 0) return;
  await trx.raw(REQUEST, { ids: [...deviceIds], at: at ?? null, spread: spreadMs });
}

const REQUEST_MISSING = `
insert into device_pushes (device_id, due_at)
select d.id, now() + random() * interval '1 minute'
from devices d
where d.id in (select c.device_id from commands c where c.is_pending)
  and d.is_enrolled and d.sealed_push is not null and d.push_state = 'ok'
  and not exists (select from device_pushes p where p.device_id = d.id)
order by d.id
limit ?
on conflict (device_id) do nothing`;

/** Has devices pushed that wait for commands without anybody having asked. Returns how many. */
export async function requestMissingPushes(knex: Knex, limit: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(REQUEST_MISSING, [limit]);
  return rowCount;
}
