import { type Database, runStatement } from '../connection/database.js';
import { LAST_PRIORITY } from '../devices/command-repository.js';
import { REQUEST_AGAIN } from '../push/push-enqueue.js';

/** A message on the user channel, after its device was identified and found enrolled. */
export interface UserFacts {
  deviceId: number;
  /** UserID; the short name on a Shared iPad; EnrollmentUserID of a user enrollment. */
  userKey: string;
  userId: string | null;
  shortName: string | null;
  longName: string | null;
}

export interface UserTokenFacts extends UserFacts {
  /** Sealed under the user key of this message, which replaces the stored one. */
  sealedPush: Buffer;
  notOnConsole: boolean | null;
  awaitingConfiguration: boolean | null;
  /** UserConfigured, queued if the user awaits configuration and has none pending. */
  configured: { uuid: string; payload: Buffer };
}

export interface UserTokenUpdated {
  isPushDue: boolean;
  /** Users of the device that were deleted to make room for this one. */
  dropped: number;
}

/** Users stored for each device, so that a broken client cannot fill the disk. */
export const MAX_USERS = 1_000;

/** After the user's other commands, but before those of the last priority. */
const CONFIGURED_PRIORITY = LAST_PRIORITY + 1;

/**
 * A new user beyond MAX_USERS replaces one that is not enrolled, or else the one last seen the longest
 * ago. A user that could not be pushed before is pushed even if no command is visible, as in
 * token-update.ts. The device is locked, so that it does not check out meanwhile.
 */
export const USER_TOKEN_UPDATE = {
  name: 'user_token_update',
  text: `
with device as (
  select id from devices where id = $1 and enrollment_state = 'enrolled' for share
), known as (
  select id, not is_enrolled or sealed_push is null or push_state is distinct from 'ok' as was_unpushable
  from device_users where device_id = $1 and lower(user_key) = lower($2)
), dropped as (
  delete from device_users where not exists (select from known) and id in (
    select id from device_users where device_id = (select id from device)
    order by is_enrolled desc, coalesce(last_seen, created_at) desc, id desc
    offset ${MAX_USERS - 1})
  returning id
), saved as (
  insert into device_users as u (device_id, user_key, user_id, short_name, long_name,
    not_on_console, sealed_push, awaiting_configuration, push_state, is_enrolled, tokenupdate_at,
    last_seen)
  select id, $2, $3, $4, $5, $6::boolean, $7::bytea, $8::boolean, 'ok', true, now(), now()
  from device
  on conflict (device_id, lower(user_key)) do update set
    user_key = excluded.user_key,
    user_id = coalesce(excluded.user_id, u.user_id),
    short_name = coalesce(excluded.short_name, u.short_name),
    long_name = coalesce(excluded.long_name, u.long_name),
    not_on_console = coalesce(excluded.not_on_console, u.not_on_console),
    awaiting_configuration = coalesce(excluded.awaiting_configuration,
      case when u.is_enrolled then u.awaiting_configuration end),
    sealed_push = excluded.sealed_push, push_state = 'ok', failed_push_count = 0,
    last_push_result = null, is_enrolled = true, tokenupdate_at = now(), last_seen = now()
  returning id, device_id
), configured as (
  insert into commands (uuid, device_id, device_user_id, request_type, payload, priority)
  select $9::uuid, s.device_id, s.id, 'UserConfigured', $10::bytea, ${CONFIGURED_PRIORITY}
  from saved s
  where $8 and not exists (
    select from commands c
    where c.device_user_id = s.id and c.is_pending and c.request_type = 'UserConfigured')
  returning id
), pushed as (
  insert into user_pushes as p (device_user_id, due_at)
  select s.id, now() from saved s left join known k on k.id = s.id
  where k.was_unpushable is not false or exists (select from configured)
    or exists (select from commands c where c.device_user_id = s.id and c.is_pending)
  on conflict (device_user_id) ${REQUEST_AGAIN}
  returning device_user_id
)
select exists (select from pushed) as is_push_due,
  (select count(*) from dropped)::integer as dropped
from saved`,
};

/** Stores the user's push token; null when the device is not enrolled any more. */
export async function updateUserToken(
  db: Database,
  user: UserTokenFacts,
): Promise<UserTokenUpdated | null> {
  type Row = { is_push_due: boolean; dropped: number };
  const {
    rows: [row],
  } = await runStatement<Row>(db, USER_TOKEN_UPDATE, [
    user.deviceId,
    user.userKey,
    user.userId,
    user.shortName,
    user.longName,
    user.notOnConsole,
    user.sealedPush,
    user.awaitingConfiguration,
    user.configured.uuid,
    user.configured.payload,
  ]);
  return row === undefined ? null : { isPushDue: row.is_push_due, dropped: row.dropped };
}

const CHECK_OUT = {
  name: 'user_check_out',
  text: `
with unenrolled as (
  update device_users set is_enrolled = false, sealed_push = null, push_state = null,
    awaiting_configuration = null, last_seen = now()
  where device_id = $1 and lower(user_key) = lower($2)
  returning id
), cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 'the user has unenrolled'
  from unenrolled u where c.device_user_id = u.id and c.is_pending
)
delete from user_pushes p using unenrolled u where p.device_user_id = u.id`,
};

/** Ends the user's enrollment and cancels its commands; the device and its other users stay. */
export async function checkOutUser(db: Database, deviceId: number, userKey: string): Promise<void> {
  await runStatement(db, CHECK_OUT, [deviceId, userKey]);
}
