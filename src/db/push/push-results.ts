import { type Database, runInBackground } from '../connection/database.js';
import { forRecipients, type PushRecipient } from './push-recipients.js';

/** The result of a push, for the record of the device or of the user. */
export interface PushResult {
  recipientId: number;
  /** `delivered`, a reason of Apple's, or one of our own. */
  result: string;
  apnsId: string | null;
  /** Null when no answer came. */
  isDelivered: boolean | null;
  /** What Apple's answer says of the token in `sealedPush`. */
  pushState: 'ok' | 'unregistered' | 'bad_token' | null;
  sealedPush: Buffer | null;
  /** Since when the token is invalid (milliseconds since 1970), if the answer says so. */
  since: number | null;
}

/**
 * The answer changes `push_state` only if the device still has the token that was pushed, and has not
 * sent it again after the time that Apple names.
 */
const STORE = forRecipients(
  'store_push_results',
  ({ recipients, setApnsId }) => `
with result as (
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bytea[],
    $7::float8[]) as p (id, result, apns_id, is_delivered, push_state, sealed_push, since)
), locked as (
  select p.* from ${recipients} r join result p on p.id = r.id
  where p.is_delivered is not null or r.last_push_result is distinct from p.result
  order by r.id
  for no key update of r
)
update ${recipients} r set
  last_push_result = p.result,
  last_push_at = case when p.is_delivered is null then r.last_push_at else now() end,
  ${setApnsId}
  failed_push_count = case when p.is_delivered then 0 when p.is_delivered is null
    then r.failed_push_count else r.failed_push_count + 1 end,
  push_state = case
    when p.push_state is not null and r.sealed_push = p.sealed_push
      and (p.since is null or r.tokenupdate_at is null
        or r.tokenupdate_at <= to_timestamp(p.since / 1000))
    then p.push_state else r.push_state end
from locked p
where r.id = p.id
returning r.id, r.push_state, set_config('synchronous_commit', 'off', true)`,
);

/** Stores the results. Returns the ids of recipients that cannot be pushed any more. */
export async function storePushResults(
  db: Database,
  recipient: PushRecipient,
  results: readonly PushResult[],
): Promise<Set<number>> {
  if (results.length === 0) return new Set();
  type Row = { id: number; push_state: string | null };
  const { rows } = await runInBackground<Row>(db, STORE[recipient], [
    results.map(({ recipientId }) => recipientId),
    results.map(({ result }) => result),
    results.map(({ apnsId }) => apnsId),
    results.map(({ isDelivered }) => isDelivered),
    results.map(({ pushState }) => pushState),
    results.map(({ sealedPush }) => sealedPush),
    results.map(({ since }) => since),
  ]);
  return new Set(rows.filter(({ push_state }) => push_state !== 'ok').map(({ id }) => id));
}
