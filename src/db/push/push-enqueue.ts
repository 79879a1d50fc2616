import type { Knex } from 'knex';
import { forOwners, type PushRecipient } from './push-recipients.js';

export interface PushRequestOptions {
  /** When what waits can be given to the device; now unless told. */
  at?: Date | null | undefined;
  /** The push goes out at a random moment of this span, so that many don't come at once. */
  spreadMs?: number;
}

/**
 * A push under way keeps its claim: whoever claimed the row sees by requested_at that another push
 * has to follow. All statements that make rows share this.
 */
export const REQUEST_AGAIN = `do update set
    requested_at = clock_timestamp(),
    attempts = 0,
    due_at = case when p.claimed_at is null then least(p.due_at, excluded.due_at) else p.due_at end`;

const REQUEST = forOwners(
  'request_pushes',
  ({ owners, pushes, key, device, isEnrolled }) => `
insert into ${pushes} as p (${key}, due_at)
select o.id,
  greatest(now(), coalesce(:at::timestamptz, now())) + random() * :spread * interval '1 ms'
from ${owners} o
${device}
where o.id = any(:ids::bigint[])
  and ${isEnrolled} and o.sealed_push is not null and o.push_state = 'ok'
order by o.id
on conflict (${key}) ${REQUEST_AGAIN}`,
);

async function request(
  trx: Knex.Transaction,
  owner: PushRecipient,
  { ids, at = null, spreadMs = 0 }: PushRequestOptions & { ids: readonly number[] },
): Promise<void> {
  if (ids.length === 0) return;
  await trx.raw(REQUEST[owner].text, { ids: [...ids], at: at ?? null, spread: spreadMs });
}

/**
 * Notes that these devices are to be pushed, in the transaction that gives them something to fetch.
 * One statement; rows are locked in the order of their ids. Devices that can't be pushed are left
 * out: their next TokenUpdate asks for the push.
 */
export function requestPushes(
  trx: Knex.Transaction,
  deviceIds: readonly number[],
  options: PushRequestOptions = {},
): Promise<void> {
  return request(trx, 'device', { ...options, ids: deviceIds });
}

/** The same for users of devices, by their own ids. */
export function requestUserPushes(
  trx: Knex.Transaction,
  userIds: readonly number[],
  options: PushRequestOptions = {},
): Promise<void> {
  return request(trx, 'user', { ...options, ids: userIds });
}

const REQUEST_MISSING = forOwners(
  'request_missing_pushes',
  ({ owners, pushes, key, device, isEnrolled, isOwned, ownerOfCommand }) => `
insert into ${pushes} (${key}, due_at)
select o.id, now() + random() * interval '1 minute'
from ${owners} o
${device}
where o.id in (select ${ownerOfCommand} from commands c where c.is_pending and ${isOwned})
  and ${isEnrolled} and o.sealed_push is not null and o.push_state = 'ok'
  and not exists (select from ${pushes} p where p.${key} = o.id)
order by o.id
limit ?
on conflict (${key}) do nothing`,
);

/** Has owners pushed that wait for commands without anybody having asked. Returns how many. */
export async function requestMissingPushes(
  knex: Knex,
  owner: PushRecipient,
  limit: number,
): Promise<number> {
  const { text } = REQUEST_MISSING[owner];
  const { rowCount } = await knex.raw<{ rowCount: number }>(text, [limit]);
  return rowCount;
}
