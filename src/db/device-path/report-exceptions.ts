import { type Database, runStatement } from '../connection/database.js';

const EXPIRE = {
  name: 'expire_exhausted',
  text: `
update commands c set status = 'Expired', ended_at = now(), failed_at = now(),
  reason = 'no answer after its last offer'
where c.device_id = $1 and c.status = 'Sent' and c.ttl <= 0 and lower($2) is not distinct from (
  select lower(u.user_key) from device_users u where u.id = c.device_user_id)`,
};

/** Expires the commands of the device, or of this user of it, that have no offers left. */
export async function expireExhausted(
  db: Database,
  deviceId: number,
  userKey: string | null = null,
): Promise<void> {
  await runStatement(db, EXPIRE, [deviceId, userKey]);
}

// The last claim took the row's former sent_at; a command never sent before has none.
const WITHDRAW = {
  name: 'withdraw_ineligible',
  text: `
update commands c set status = 'Cancelled', ended_at = now(), reason = $4,
  attempts = case when c.uuid = $5 then c.attempts - 1 else c.attempts end,
  sent_at = case when c.uuid = $5 and c.attempts <= 1 then null else c.sent_at end
where c.device_id = $1 and c.is_pending and c.request_type = $3 and (c.uuid = $5 or not c.is_forced)
  and lower($2) is not distinct from (
    select lower(u.user_key) from device_users u where u.id = c.device_user_id)`,
};

export interface IneligibleCommand {
  deviceId: number;
  userKey: string | undefined;
  requestType: string;
  /** The one that was just claimed, and is not sent now. */
  uuid: string;
  reason: string;
}

/** Cancels the claimed command, and all of its type that wait for this device or this user of it. */
export async function withdrawIneligible(db: Database, command: IneligibleCommand): Promise<void> {
  const { deviceId, userKey = null, requestType, reason, uuid } = command;
  await runStatement(db, WITHDRAW, [deviceId, userKey, requestType, reason, uuid]);
}

const WITHDRAW_ONE = {
  name: 'withdraw_command',
  text: `
update commands c set status = 'Cancelled', ended_at = now(), reason = $3, attempts = c.attempts - 1,
  sent_at = case when c.attempts <= 1 then null else c.sent_at end
where c.device_id = $1 and c.uuid = $2 and c.is_pending`,
};

/** Cancels a command that was just claimed, and that is not sent now. */
export async function withdrawCommand(
  db: Database,
  { deviceId, uuid, reason }: { deviceId: number; uuid: string; reason: string },
): Promise<void> {
  await runStatement(db, WITHDRAW_ONE, [deviceId, uuid, reason]);
}

export interface UnknownReport {
  deviceId: number;
  userKey: string | null;
  commandUuid: string;
  /** The CommandUUID when it is a UUID, else null. */
  uuid: string | null;
  status: string;
  sealedReport: Buffer;
}

/** Unknown reports stored for each device, so that a broken client cannot fill the disk. */
const MAX_STORED = 20;

// The delete does not see the row that this statement inserts, hence MAX_STORED - 1.
const RECORD = {
  name: 'unknown_report',
  text: `
with known as (
  select 1 from commands c left join device_users u on u.id = c.device_user_id
  where c.uuid = $4 and c.device_id = $1 and lower(u.user_key) is not distinct from lower($2)
  union all
  select 1 from unknown_reports
  where device_id = $1 and user_key is not distinct from $2 and command_uuid = $3 and status = $5
), dropped as (
  delete from unknown_reports where not exists (select from known) and id in (
    select id from unknown_reports where device_id = $1 order by id desc offset ${MAX_STORED - 1})
)
insert into unknown_reports (device_id, user_key, command_uuid, status, sealed_report)
select $1, $2, $3, $5, $6 where not exists (select from known)`,
};

/**
 * Stores a report whose command this server never queued. Reports of finished commands, and reports
 * that are stored already, are ignored.
 */
export async function recordUnknownReport(db: Database, report: UnknownReport): Promise<void> {
  const { deviceId, userKey, commandUuid, uuid, status, sealedReport } = report;
  const values = [deviceId, userKey, commandUuid, uuid, status, sealedReport];
  await runStatement(db, RECORD, values);
}
