import type { Knex } from 'knex';
import { runPrepared } from '../connection/prepared-statements.js';
import type { Sql } from '../connection/statement-runner.js';
import { forRecipients, type PushRecipient, type RecipientSql } from './push-recipients.js';

export interface PushRequestOptions {
  /** When the device can fetch the queued command; now by default. */
  at?: Date | null | undefined;
  /** The push goes out at a random moment of this span, so that many devices don't come at once. */
  spreadMs?: number | undefined;
}

/**
 * A push that is being sent stays claimed: requested_at shows its process that another push must follow.
 * All statements that insert pushes share this.
 */
export const REQUEST_AGAIN = `do update set
    requested_at = clock_timestamp(),
    attempts = 0,
    due_at = case when p.claimed_at is null then least(p.due_at, excluded.due_at) else p.due_at end`;

const requestText = (
  { recipients, pushes, key, joinDevice, isEnrolled }: RecipientSql,
  condition: string,
) => `
insert into ${pushes} as p (${key}, due_at)
select r.id,
  greatest(now(), coalesce(?::timestamptz, now())) + random() * ?::float8 * interval '1 ms'
from ${recipients} r
${joinDevice}
where ${condition}
  and ${isEnrolled} and r.sealed_push is not null and r.push_state = 'ok'
order by r.id
on conflict (${key}) ${REQUEST_AGAIN}`;

const REQUEST = forRecipients('request_pushes', (parts) =>
  requestText(parts, 'r.id = any(?::bigint[])'),
);

/**
 * As part of a statement whose part `created` is the row to push for. Not by an array of one: PostgreSQL takes one
 * of unknown length to have ten ids, and plans the statement anew each time.
 */
const REQUEST_FOR_CREATED = forRecipients('request_pushes_for_created', (parts) =>
  requestText(parts, 'r.id = ?::bigint and exists (select from created)'),
);

/**
 * Requests a push of these devices, in the transaction that queues something for them. One statement;
 * rows are locked in the order of their ids. Devices that can't be pushed are skipped: their next
 * TokenUpdate requests the push.
 */
export function requestPushes(
  trx: Knex.Transaction,
  deviceIds: readonly number[],
  options: PushRequestOptions = {},
): Promise<void> {
  return request(trx, 'device', { ...options, ids: deviceIds });
}

/** The same for one device, if the statement that it is part of has a row `created`. */
export function pushForCreated(deviceId: number, options: PushRequestOptions = {}): Sql {
  const { at = null, spreadMs = 0 } = options;
  return { text: REQUEST_FOR_CREATED.device.text, bindings: [at, spreadMs, deviceId] };
}

/** Requests a push of these users of devices, by their own ids. */
export function requestUserPushes(
  trx: Knex.Transaction,
  userIds: readonly number[],
  options: PushRequestOptions = {},
): Promise<void> {
  return request(trx, 'user', { ...options, ids: userIds });
}

// Begins with the pending commands without a push, which index-only scans find, then looks up each of the
// few recipients. Otherwise the planner overestimates them and scans all devices.
const REQUEST_MISSING = forRecipients(
  'request_missing_pushes',
  ({ recipients, pushes, key, joinDevice, isEnrolled, isReached, ...command }) => `
with unpushed as materialized (
  select ${command.recipientOfCommand} as id from commands c
  where c.is_pending and ${command.recipientOfCommand} is not null
    and not exists (select from ${pushes} p where p.${key} = ${command.recipientOfCommand})
    and ${isReached}
  group by ${command.recipientOfCommand}
)
insert into ${pushes} (${key}, due_at)
select r.id, now() + random() * interval '1 minute'
from unpushed u cross join lateral (
  select r.id from ${recipients} r
  ${joinDevice}
  where r.id = u.id and ${isEnrolled} and r.sealed_push is not null and r.push_state = 'ok'
    and exists (select from commands c where c.is_pending and ${command.isForRecipient})
  limit 1
) r
order by r.id
limit ?
on conflict (${key}) do nothing`,
);

/** Requests pushes of recipients that have commands queued but no push. Returns how many. */
export async function requestMissingPushes(
  knex: Knex,
  recipient: PushRecipient,
  limit: number,
): Promise<number> {
  const { text } = REQUEST_MISSING[recipient];
  const { rowCount } = await knex.raw<{ rowCount: number }>(text, [limit]);
  return rowCount;
}

async function request(
  trx: Knex.Transaction,
  recipient: PushRecipient,
  { ids, at = null, spreadMs = 0 }: PushRequestOptions & { ids: readonly number[] },
): Promise<void> {
  if (ids.length === 0) return;
  const bindings = [at ?? null, spreadMs, [...ids]];
  await runPrepared(trx, { text: REQUEST[recipient].text, bindings });
}
