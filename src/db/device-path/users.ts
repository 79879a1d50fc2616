import { type Database, runStatement } from '../database.js';

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
  sealedPush: Buffer;
  notOnConsole: boolean | null;
}

const UPDATE_TOKEN = {
  name: 'user_token_update',
  text: `
insert into device_users (device_id, user_key, user_id, short_name, long_name, not_on_console,
  sealed_push, is_enrolled, tokenupdate_at, last_seen)
values ($1, $2, $3, $4, $5, $6, $7, true, now(), now())
on conflict (device_id, user_key) do update set
  user_id = coalesce(excluded.user_id, device_users.user_id),
  short_name = coalesce(excluded.short_name, device_users.short_name),
  long_name = coalesce(excluded.long_name, device_users.long_name),
  not_on_console = coalesce(excluded.not_on_console, device_users.not_on_console),
  sealed_push = excluded.sealed_push, is_enrolled = true, tokenupdate_at = now(), last_seen = now()`,
};

export async function updateUserToken(db: Database, user: UserTokenFacts): Promise<void> {
  await runStatement(db, UPDATE_TOKEN, [
    user.deviceId,
    user.userKey,
    user.userId,
    user.shortName,
    user.longName,
    user.notOnConsole,
    user.sealedPush,
  ]);
}

const SEEN = {
  name: 'user_seen',
  text: `update device_users set last_seen = now() where device_id = $1 and user_key = $2`,
};

export async function markUserSeen(db: Database, deviceId: number, userKey: string): Promise<void> {
  await runStatement(db, SEEN, [deviceId, userKey]);
}

const CHECK_OUT = {
  name: 'user_check_out',
  text: `
update device_users set is_enrolled = false, sealed_push = null, last_seen = now()
where device_id = $1 and user_key = $2`,
};

export async function checkOutUser(db: Database, deviceId: number, userKey: string): Promise<void> {
  await runStatement(db, CHECK_OUT, [deviceId, userKey]);
}
