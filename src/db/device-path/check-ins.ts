import { type Database, runStatement } from '../database.js';
import type { Caller, PinState } from './contact.js';

/** The caller's pin and the facts of its device that choose what to send it. */
export interface CallerFacts extends Caller {
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
}

interface CallerRow {
  pin_state: PinState | null;
  device_id: number | null;
  enrollment_state: string | null;
  is_same_device: boolean | null;
  platform: string | null;
  os_version: string | null;
  is_supervised: boolean | null;
}

export interface WhoCalls {
  fingerprint: Buffer;
  /** UDID or EnrollmentID in lower case. */
  deviceKey: string;
}

const FIND_CALLER = {
  name: 'find_caller',
  text: `
select i.state as pin_state, d.id as device_id, d.enrollment_state,
  lower(coalesce(d.udid, d.enrollment_id)) = $2 as is_same_device,
  d.platform, d.os_version, d.is_supervised
from device_identities i left join devices d on d.id = i.device_id
where i.fingerprint = $1`,
};

const NOBODY: CallerFacts = {
  pinState: null,
  deviceId: null,
  enrollmentState: null,
  isSameDevice: false,
  platform: null,
  osVersion: null,
  isSupervised: null,
};

export async function findCaller(db: Database, who: WhoCalls): Promise<CallerFacts> {
  const values = [who.fingerprint, who.deviceKey];
  const {
    rows: [row],
  } = await runStatement<CallerRow>(db, FIND_CALLER, values);
  if (row === undefined) return NOBODY;
  return {
    pinState: row.pin_state,
    deviceId: row.device_id,
    enrollmentState: row.enrollment_state,
    isSameDevice: row.is_same_device === true,
    platform: row.platform,
    osVersion: row.os_version,
    isSupervised: row.is_supervised,
  };
}

/** A command ready to be stored: its payload is the plist that the device will get. */
export interface PreparedCommand {
  uuid: string;
  requestType: string;
  payload: Buffer;
}

export interface TokenUpdateFacts extends WhoCalls {
  sealedPush: Buffer;
  topic: string | null;
  awaitingConfiguration: boolean | null;
  sealedUnlockToken: Buffer | null;
  /** Queued only if this TokenUpdate is the one that enrolls the device. */
  inventory: PreparedCommand[];
}

const CALLER_FOR_UPDATE = `
  select d.id, d.enrollment_state, d.enrollment_number, i.state as pin_state
  from device_identities i join devices d on d.id = i.device_id
  where i.fingerprint = $1 and i.state in ('active', 'renewal')
    and lower(coalesce(d.udid, d.enrollment_id)) = $2
  for update of d`;

const TOKEN_UPDATE = {
  name: 'token_update',
  text: `
with caller as (${CALLER_FOR_UPDATE}
), enrolled as (
  update devices d set
    enrollment_state = 'enrolled', is_enrolled = true, sealed_push = $3, push_state = 'ok',
    failed_push_count = 0, topic = coalesce($4, d.topic),
    awaiting_configuration = coalesce($5, d.awaiting_configuration),
    enrolled_at = case when caller.enrollment_state = 'authenticated' then now() else d.enrolled_at end,
    tokenupdate_at = now(), last_seen = now()
  from caller
  where d.id = caller.id and caller.enrollment_state in ('authenticated', 'enrolled')
  returning d.id, caller.enrollment_number, caller.enrollment_state = 'authenticated' as is_first
), escrow as (
  insert into device_secrets (device_id, enrollment_number, kind, sealed)
  select id, enrollment_number, 'unlock_token', $6 from enrolled where $6::bytea is not null
), inventory as (
  insert into commands (uuid, device_id, request_type, payload)
  select c.uuid, enrolled.id, c.request_type, c.payload
  from enrolled cross join unnest($7::uuid[], $8::text[], $9::bytea[])
    with ordinality as c (uuid, request_type, payload, ord)
  where enrolled.is_first
  order by c.ord
)
select id, is_first from enrolled`,
};

/** Enrolls the device with its push token; null when the caller is not to be let in. */
export async function updateDeviceToken(
  db: Database,
  facts: TokenUpdateFacts,
): Promise<{ deviceId: number; isFirst: boolean } | null> {
  const {
    rows: [row],
  } = await runStatement<{ id: number; is_first: boolean }>(db, TOKEN_UPDATE, [
    facts.fingerprint,
    facts.deviceKey,
    facts.sealedPush,
    facts.topic,
    facts.awaitingConfiguration,
    facts.sealedUnlockToken,
    facts.inventory.map((command) => command.uuid),
    facts.inventory.map((command) => command.requestType),
    facts.inventory.map((command) => command.payload),
  ]);
  return row === undefined ? null : { deviceId: row.id, isFirst: row.is_first };
}

const CHECK_OUT = {
  name: 'check_out',
  text: `
with caller as (${CALLER_FOR_UPDATE}
), unenrolled as (
  update devices d set
    enrollment_state = 'unenrolled', is_enrolled = false, sealed_push = null, push_state = null,
    unenrolled_at = now(), last_seen = now()
  from caller
  where d.id = caller.id and caller.enrollment_state in ('authenticated', 'enrolled')
  returning d.id
), cancelled as (
  update commands c set status = 'Cancelled', reason = 'unenrolled'
  from unenrolled u where c.device_id = u.id and c.status in ('Queued', 'Sent', 'NotNow')
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null
  from unenrolled u where s.device_id = u.id
)
select id from caller`,
};

/** The device leaves; its record, history and escrow stay. False when the caller is not its device. */
export async function checkOutDevice(db: Database, who: WhoCalls): Promise<boolean> {
  const { rows } = await runStatement(db, CHECK_OUT, [who.fingerprint, who.deviceKey]);
  return rows.length > 0;
}

const PROMOTE_RENEWAL = {
  name: 'promote_renewal',
  text: `
with promoted as (
  update device_identities set state = 'active', changed_at = now()
  where fingerprint = $1 and state = 'renewal'
  returning device_id
)
update device_identities i set state = 'superseded', changed_at = now()
from promoted p
where i.device_id = p.device_id and i.fingerprint <> $1 and i.state in ('active', 'renewal')`,
};

/** A renewed certificate was used for the first time: from now on it is the only one. */
export async function promoteRenewal(db: Database, fingerprint: Buffer): Promise<void> {
  await runStatement(db, PROMOTE_RENEWAL, [fingerprint]);
}
