import { type Database, runInBackground } from '../connection/database.js';

import { forOwners, type PushRecipient } from './push-recipients.js';

/** How a push ended, for the record of the device or of the user. */
export interface PushResult {
  ownerId: number;
  /** `delivered`, a reason of Apple's, or one of our own. */
  result: string;
  apnsId: string | null;
  /** Null when nothing was said of the device: no answer came. */
  isDelivered: boolean | null;
  /** What the push service has said of the token that lay in `sealedPush`. */
  pushState: 'ok' | 'unregistered' | 'bad_token' | null;
  sealedPush: Buffer | null;
  /** Since when the token is not valid, milliseconds since 1970, if that was said. */
  since: number | null;
}

/**
 * A token that the device has renewed meanwhile is not judged by what was said of the former one. Nor
 * is one that it has sent again after the time that Apple names.
 */
const NOTE = forOwners(
  'note_push_results',
  ({ owners, noteApnsId }) => `
with outcome as (
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bytea[],
    $7::float8[]) as r (id, result, apns_id, is_delivered, push_state, sealed_push, since)
), locked as (
  select r.* from ${owners} o join outcome r on r.id = o.id
  where r.is_delivered is not null or o.last_push_result is distinct from r.result
  order by o.id
  for no key update of o
)
update ${owners} o set
  last_push_result = r.result,
  last_push_at = case when r.is_delivered is null then o.last_push_at else now() end,
  ${noteApnsId}
  failed_push_count = case when r.is_delivered then 0 when r.is_delivered is null
    then o.failed_push_count else o.failed_push_count + 1 end,
  push_state = case
    when r.push_state is not null and o.sealed_push = r.sealed_push
      and (r.since is null or o.tokenupdate_at is null
        or o.tokenupdate_at <= to_timestamp(r.since / 1000))
    then r.push_state else o.push_state end
from locked r
where o.id = r.id
returning o.id, o.push_state, set_config('synchronous_commit', 'off', true)`,
);

/** Writes them to their records. Returns the ids of those that can't be pushed any more. */
export async function notePushResults(
  db: Database,
  owner: PushRecipient,
  results: readonly PushResult[],
): Promise<Set<number>> {
  if (results.length === 0) return new Set();
  type Row = { id: number; push_state: string | null };
  const { rows } = await runInBackground<Row>(db, NOTE[owner], [
    results.map(({ ownerId }) => ownerId),
    results.map(({ result }) => result),
    results.map(({ apnsId }) => apnsId),
    results.map(({ isDelivered }) => isDelivered),
    results.map(({ pushState }) => pushState),
    results.map(({ sealedPush }) => sealedPush),
    results.map(({ since }) => since),
  ]);
  return new Set(rows.filter(({ push_state }) => push_state !== 'ok').map(({ id }) => id));
}
