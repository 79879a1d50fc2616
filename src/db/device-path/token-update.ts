import { type Database, runStatement } from '../connection/database.js';
import { isNewSecret } from '../devices/device-secrets.js';
import { REQUEST_AGAIN } from '../push/push-enqueue.js';
import { isMismatch } from '../push/push-topic-mismatch.js';

/** What identifies the sender of a message. */
export interface CallerKey {
  fingerprint: Buffer;
  /** UDID or EnrollmentID in lower case. */
  deviceKey: string;
}

/** A command ready to be stored: its payload is the plist that the device will receive. */
export interface PreparedCommand {
  uuid: string;
  requestType: string;
  payload: Buffer;
  /** SHA-256 of the plist without its CommandUUID. */
  sha256: Buffer;
}

export interface TokenUpdateFacts extends CallerKey {
  /** The device that the secrets are sealed for. Nothing is updated if the certificate has another. */
  deviceId: number;
  sealedPush: Buffer;
  topic: string | null;
  /** The cell label of the URL: an older Muster may have answered the Authenticate without it. */
  cell: number | null;
  awaitingConfiguration: boolean | null;
  /** Stored unless it equals the enrollment's last one. */
  unlockToken: { sealed: Buffer; digest: Buffer } | null;
  /** Queued only if this TokenUpdate is the one that enrolls the device. */
  inventory: PreparedCommand[];
}

/**
 * If the device had no working push token until now, it is pushed even if no command is visible: a
 * command queued concurrently skipped the push for want of a token, and this snapshot does not see it.
 */
export const TOKEN_UPDATE = {
  name: 'token_update',
  text: `
with message as (
  select * from unnest($1::bytea[], $2::text[], $3::bytea[], $4::text[], $5::boolean[], $6::bytea[],
    $11::bigint[], $12::bytea[], $13::smallint[]) with ordinality as q (fingerprint, device_key,
    sealed_push, topic, awaiting, unlock_token, device_id, unlock_digest, cell, ord)
), caller as (
  select m.*, d.id, d.enrollment_state, d.enrollment_number, d.proven_serial,
    d.sealed_push is null or d.push_state is distinct from 'ok' as was_unpushable
  from message m
  join device_identities i on i.fingerprint = m.fingerprint and i.state in ('active', 'renewal')
  join devices d on d.id = i.device_id and d.id = m.device_id
    and lower(coalesce(d.udid, d.enrollment_id)) = m.device_key
  order by d.id
  for update of d
), enrolled as (
  update devices d set
    enrollment_state = 'enrolled', is_enrolled = true, sealed_push = c.sealed_push,
    push_state = case when ${isMismatch('coalesce(c.topic, d.topic)')}
      then 'topic_mismatch' else 'ok' end,
    health = case when c.enrollment_state = 'authenticated' then 'ok' else d.health end,
    failed_push_count = 0, last_push_result = null,
    topic = coalesce(c.topic, d.topic), cell = coalesce(c.cell, d.cell),
    awaiting_configuration = coalesce(c.awaiting, d.awaiting_configuration),
    enrolled_at = case when c.enrollment_state = 'authenticated' then now() else d.enrolled_at end,
    tokenupdate_at = now(), last_seen = now()
  from caller c
  where d.id = c.id and c.enrollment_state in ('authenticated', 'enrolled')
  returning c.ord, d.id, c.enrollment_number, c.proven_serial, c.unlock_token, c.unlock_digest,
    c.was_unpushable, d.push_state, c.enrollment_state = 'authenticated' as is_first
), escrow as (
  insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
  select e.id, e.enrollment_number, e.proven_serial, 'unlock_token', e.unlock_token,
    e.unlock_digest
  from enrolled e where e.unlock_token is not null and ${isNewSecret({
    device: 'e.id',
    number: 'e.enrollment_number',
    kind: "'unlock_token'",
    digest: 'e.unlock_digest',
  })}
), inventory as (
  insert into commands (uuid, device_id, request_type, payload, scheduled_sha256)
  select c.uuid, e.id, c.request_type, c.payload, c.sha256
  from unnest($7::bigint[], $8::uuid[], $9::text[], $10::bytea[], $14::bytea[])
    with ordinality as c (ord, uuid, request_type, payload, sha256, position)
  join enrolled e on e.ord = c.ord and e.is_first
  order by c.position
), pushed as (
  insert into device_pushes as p (device_id, due_at)
  select e.id, now() from enrolled e
  where e.push_state = 'ok' and (e.was_unpushable
    or exists (select from commands c
      where c.device_id = e.id and c.is_pending and c.device_user_id is null))
  order by e.id
  on conflict (device_id) ${REQUEST_AGAIN}
  returning device_id
)
select e.id, e.is_first, p.device_id is not null as is_push_due
from message m left join enrolled e using (ord) left join pushed p on p.device_id = e.id
order by m.ord`,
};

/** The device that was updated; null when the sender's certificate or enrollment is refused. */
export type TokenUpdated = { deviceId: number; isFirst: boolean; isPushDue: boolean } | null;

interface TokenUpdatedRow {
  id: number | null;
  is_first: boolean;
  is_push_due: boolean;
}

/** Enrolls devices with their push tokens, in the order given. Throws the driver's error. */
export async function updateTokens(
  db: Database,
  updates: TokenUpdateFacts[],
): Promise<TokenUpdated[]> {
  const inventory = updates.flatMap((update, index) =>
    update.inventory.map((command) => ({ ...command, ord: index + 1 })),
  );
  const { rows } = await runStatement<TokenUpdatedRow>(db, TOKEN_UPDATE, [
    updates.map((update) => update.fingerprint),
    updates.map((update) => update.deviceKey),
    updates.map((update) => update.sealedPush),
    updates.map((update) => update.topic),
    updates.map((update) => update.awaitingConfiguration),
    updates.map(({ unlockToken }) => unlockToken?.sealed ?? null),
    inventory.map((command) => command.ord),
    inventory.map((command) => command.uuid),
    inventory.map((command) => command.requestType),
    inventory.map((command) => command.payload),
    updates.map((update) => update.deviceId),
    updates.map(({ unlockToken }) => unlockToken?.digest ?? null),
    updates.map((update) => update.cell),
    inventory.map((command) => command.sha256),
  ]);
  return rows.map(({ id, is_first: isFirst, is_push_due: isPushDue }) =>
    id === null ? null : { deviceId: id, isFirst, isPushDue },
  );
}
