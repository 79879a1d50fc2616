import { runInBackground } from './background-statement.js';
import type { Database } from './database.js';

/** How a push ended, for the device's record. */
export interface PushResult {
  deviceId: number;
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
const NOTE = {
  name: 'note_push_results',
  text: `
with outcome as (
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bytea[],
    $7::float8[]) as o (id, result, apns_id, is_delivered, push_state, sealed_push, since)
), locked as (
  select o.* from devices d join outcome o on o.id = d.id
  where o.is_delivered is not null or d.last_push_result is distinct from o.result
  order by d.id
  for no key update of d
)
update devices d set
  last_push_result = o.result,
  last_push_at = case when o.is_delivered is null then d.last_push_at else now() end,
  last_apns_id = case when o.is_delivered is null then d.last_apns_id else o.apns_id end,
  failed_push_count = case when o.is_delivered then 0 when o.is_delivered is null
    then d.failed_push_count else d.failed_push_count + 1 end,
  push_state = case
    when o.push_state is not null and d.sealed_push = o.sealed_push
      and (o.since is null or d.tokenupdate_at is null
        or d.tokenupdate_at <= to_timestamp(o.since / 1000))
    then o.push_state else d.push_state end
from locked o
where d.id = o.id
returning d.id, d.push_state, set_config('synchronous_commit', 'off', true)`,
};

/** Writes them to the devices' records. Returns the ids of those that can't be pushed any more. */
export async function notePushResults(
  db: Database,
  results: readonly PushResult[],
): Promise<Set<number>> {
  if (results.length === 0) return new Set();
  type Row = { id: number; push_state: string | null };
  const { rows } = await runInBackground<Row>(db, NOTE, [
    results.map(({ deviceId }) => deviceId),
    results.map(({ result }) => result),
    results.map(({ apnsId }) => apnsId),
    results.map(({ isDelivered }) => isDelivered),
    results.map(({ pushState }) => pushState),
    results.map(({ sealedPush }) => sealedPush),
    results.map(({ since }) => since),
  ]);
  return new Set(rows.filter(({ push_state }) => push_state !== 'ok').map(({ id }) => id));
}
