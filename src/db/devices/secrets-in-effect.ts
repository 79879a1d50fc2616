import type { Knex } from 'knex';
import type { SealedSecret, SecretKey } from './device-secrets.js';

/** What a command sets; without a value where only the device will know it. */
export type SecretOfCommand = SealedSecret | (SecretKey & { isKnown: false });

/** The value of one kind that is in effect: the last one that the device has acknowledged or sent. */
const IN_EFFECT = `
select e.sealed, e.digest from effective_device_secrets e
join devices owner on owner.id = e.device_id
where e.device_id = :deviceId and e.kind = :kind
  and (e.enrollment_number = owner.enrollment_number
    or lower(e.proven_serial) = lower(owner.proven_serial))
order by e.effective_at desc, e.id desc limit 1`;

/** The sealed value that is in effect, if there is one and it is known. */
export async function findConfirmedSecret(
  trx: Knex.Transaction,
  key: SecretKey,
): Promise<Buffer | undefined> {
  const { rows } = await trx.raw<{ rows: { sealed: Buffer }[] }>(IN_EFFECT, { ...key });
  const sealed = rows[0]?.sealed;
  return sealed === undefined || sealed.length === 0 ? undefined : sealed;
}

// Commands that are queued before the first enrollment are sent in it.
const OF_COMMAND = `
insert into device_secrets
  (device_id, enrollment_number, proven_serial, kind, sealed, digest, command_id, is_known)
select d.id, greatest(d.enrollment_number, 1), d.proven_serial, :kind, :sealed, :digest, :commandId, :isKnown
from devices d where d.id = :deviceId`;

/** Stores a value that this command will set. It counts once the device acknowledges the command. */
export async function escrowOfCommand(
  trx: Knex.Transaction,
  secret: SecretOfCommand & { commandId: number },
): Promise<void> {
  await trx.raw(OF_COMMAND, { sealed: '', digest: null, isKnown: true, ...secret });
}

/** The device acknowledged this command and said that it did not take the value. */
export async function refuseSecretOf(trx: Knex.Transaction, commandId: number): Promise<void> {
  await trx('device_secrets').where({ command_id: commandId }).update({ is_refused: true });
}

const WAITING_CHANGE = `
select id from commands
where device_id = :deviceId and request_type = :requestType and (is_pending or needs_handling)
order by id limit 1`;

/** The command that changes a secret of the device already and is not settled. Locks the device. */
export async function findWaitingChange(
  trx: Knex.Transaction,
  { deviceId, requestType }: { deviceId: number; requestType: string },
): Promise<number | undefined> {
  await trx('devices').where({ id: deviceId }).forNoKeyUpdate().first('id');
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(WAITING_CHANGE, {
    deviceId,
    requestType,
  });
  return rows[0]?.id;
}

const FOUND = `
insert into device_secrets
  (device_id, enrollment_number, proven_serial, kind, sealed, digest, is_known, created_at)
select d.id, d.enrollment_number, d.proven_serial, :kind, :sealed, :digest, :isKnown,
  c.acknowledged_at
from commands c join devices d on d.id = c.device_id where c.id = :commandId`;

/**
 * Stores what the answer to a command says about a secret, as of that answer: the value that is in
 * effect, unless it was known to be, or that another than the known one is.
 */
export async function noteSecretFound(
  trx: Knex.Transaction,
  { commandId, isRight, ...secret }: SealedSecret & { commandId: number; isRight: boolean },
): Promise<void> {
  const { deviceId, kind } = secret;
  const { rows } = await trx.raw<{ rows: { digest: Buffer | null }[] }>(IN_EFFECT, {
    deviceId,
    kind,
  });
  const isInEffect = rows[0]?.digest?.equals(secret.digest) === true;
  if (isInEffect === isRight) return;
  const found = isRight ? secret : { ...secret, sealed: '', digest: null };
  await trx.raw(FOUND, { ...found, commandId, isKnown: isRight });
}

const UNKNOWN = `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, is_known)
select d.id, d.enrollment_number, d.proven_serial, :kind, '', false from devices d
where d.id = :deviceId and not exists (
  select from (
    select e.is_known from effective_device_secrets e
    where e.device_id = :deviceId and e.kind = :kind
    order by e.effective_at desc, e.id desc limit 1
  ) as last where not last.is_known)`;

/** The device has another value now than the known one. */
export async function noteUnknownSecret(trx: Knex.Transaction, key: SecretKey): Promise<void> {
  await trx.raw(UNKNOWN, { ...key });
}

// Only what took effect before the question was sent: a change may have been acknowledged since.
const REMOVED = `
insert into device_secrets
  (device_id, enrollment_number, proven_serial, kind, sealed, is_known, created_at)
select d.id, d.enrollment_number, d.proven_serial, :kind, '', true, c.acknowledged_at
from commands c join devices d on d.id = c.device_id cross join lateral (
  select e.sealed, e.is_known, e.effective_at from effective_device_secrets e
  where e.device_id = d.id and e.kind = :kind
    and (e.enrollment_number = d.enrollment_number
      or lower(e.proven_serial) = lower(d.proven_serial))
  order by e.effective_at desc, e.id desc limit 1
) last
where c.id = any(:commandIds::bigint[]) and last.effective_at < c.sent_at
  and not (octet_length(last.sealed) = 0 and last.is_known)`;

/** The devices answered these commands that they have no such secret: none is in effect from then on. */
export async function noteRemovedSecrets(
  trx: Knex.Transaction,
  kind: SecretKey['kind'],
  commandIds: readonly number[],
): Promise<void> {
  if (commandIds.length > 0) await trx.raw(REMOVED, { kind, commandIds: [...commandIds] });
}
