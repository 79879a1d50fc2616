import { type Database, runStatement } from '../database.js';

const EXPIRE = {
  name: 'expire_exhausted',
  text: `
update commands set status = 'Expired', reason = 'no answer after its last offer'
where device_id = $1 and status = 'Sent' and ttl <= 0`,
};

/** Gives up the device's commands that were offered as often as allowed and never answered. */
export async function expireExhausted(db: Database, deviceId: number): Promise<void> {
  await runStatement(db, EXPIRE, [deviceId]);
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

/** Most unknown reports kept for one device, so that a broken client cannot fill the disk. */
const MOST_KEPT = 20;

// The modifying parts and the outer select see one snapshot, hence MOST_KEPT - 1 older rows stay.
const RECORD = {
  name: 'unknown_report',
  text: `
with known as (
  select 1 from commands where uuid = $4 and device_id = $1
  union all
  select 1 from unknown_reports
  where device_id = $1 and user_key is not distinct from $2 and command_uuid = $3 and status = $5
), dropped as (
  delete from unknown_reports where not exists (select from known) and id in (
    select id from unknown_reports where device_id = $1 order by id desc offset ${MOST_KEPT - 1})
)
insert into unknown_reports (device_id, user_key, command_uuid, status, sealed_report)
select $1, $2, $3, $5, $6 where not exists (select from known)`,
};

/**
 * Keeps a report whose command this server never queued. One already settled is left alone, and one
 * that is kept already is not kept again.
 */
export async function recordUnknownReport(db: Database, report: UnknownReport): Promise<void> {
  const { deviceId, userKey, commandUuid, uuid, status, sealedReport } = report;
  const values = [deviceId, userKey, commandUuid, uuid, status, sealedReport];
  await runStatement(db, RECORD, values);
}

export interface Escrow {
  deviceId: number;
  kind: 'unlock_token' | 'bootstrap_token';
  /** Null takes the present one away. */
  sealed: Buffer | null;
}

const PUT_SECRET = {
  name: 'put_secret',
  text: `
insert into device_secrets (device_id, enrollment_number, kind, sealed)
select id, enrollment_number, $2, $3 from devices where id = $1`,
};

// History stays: removing writes an empty row, which tells that there is none now.
export async function putSecret(db: Database, escrow: Escrow): Promise<void> {
  const sealed = escrow.sealed ?? Buffer.alloc(0);
  await runStatement(db, PUT_SECRET, [escrow.deviceId, escrow.kind, sealed]);
}

const CURRENT_SECRET = {
  name: 'current_secret',
  text: `
select s.sealed from device_secrets s join devices d on d.id = s.device_id
where s.device_id = $1 and s.kind = $2 and s.enrollment_number = d.enrollment_number
order by s.id desc limit 1`,
};

/** The newest secret of the present enrollment; those of a former one are never returned. */
export async function currentSecret(
  db: Database,
  deviceId: number,
  kind: Escrow['kind'],
): Promise<Buffer | null> {
  const {
    rows: [row],
  } = await runStatement<{ sealed: Buffer }>(db, CURRENT_SECRET, [deviceId, kind]);
  return row === undefined || row.sealed.length === 0 ? null : row.sealed;
}
