import { type Database, runStatement } from '../connection/database.js';
import { isNewSecret } from '../devices/device-secrets.js';
import type { PinState } from '../pki/identity-revocation.js';
import { REQUEST_AGAIN } from '../push/push-enqueue.js';
import { isMismatch } from '../push/push-topic-mismatch.js';
import { type Authenticate, type AuthenticateOptions, createAuthenticate } from './authenticate.js';
import { MicroBatcher } from './micro-batcher.js';
import type { Caller } from './report-exchange.js';

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

export interface CallerKey {
  fingerprint: Buffer;
  /** UDID or EnrollmentID in lower case. */
  deviceKey: string;
}

const FIND_CALLERS = {
  name: 'find_callers',
  text: `
select i.state as pin_state, d.id as device_id, d.enrollment_state,
  lower(coalesce(d.udid, d.enrollment_id)) = q.device_key as is_same_device,
  d.platform, d.os_version, d.is_supervised
from unnest($1::bytea[], $2::text[]) with ordinality as q (fingerprint, device_key, ord)
left join device_identities i on i.fingerprint = q.fingerprint
left join devices d on d.id = i.device_id
order by q.ord`,
};

async function findCallers(db: Database, callers: CallerKey[]): Promise<CallerFacts[]> {
  const { rows } = await runStatement<CallerRow>(db, FIND_CALLERS, [
    callers.map(({ fingerprint }) => fingerprint),
    callers.map(({ deviceKey }) => deviceKey),
  ]);
  return rows.map((row) => ({
    pinState: row.pin_state,
    deviceId: row.device_id,
    enrollmentState: row.enrollment_state,
    isSameDevice: row.is_same_device === true,
    platform: row.platform,
    osVersion: row.os_version,
    isSupervised: row.is_supervised,
  }));
}

/** A command ready to be stored: its payload is the plist that the device will get. */
export interface PreparedCommand {
  uuid: string;
  requestType: string;
  payload: Buffer;
}

export interface TokenUpdateFacts extends CallerKey {
  /** The record that the secrets are sealed for; the update fails if it is another by now. */
  deviceId: number;
  sealedPush: Buffer;
  topic: string | null;
  /** Of the URL; a program that did not know it yet may have answered the Authenticate. */
  cell: number | null;
  awaitingConfiguration: boolean | null;
  /** Kept where it is not the one that the enrollment has given last. */
  unlockToken: { sealed: Buffer; digest: Buffer } | null;
  /** Queued only if this TokenUpdate is the one that enrolls the device. */
  inventory: PreparedCommand[];
}

/**
 * A device that could not be pushed before, as one that enrolls, is pushed whatever is seen to wait
 * for it: what is queued at this very moment found it mute, and isn't seen here either.
 */
const TOKEN_UPDATE = {
  name: 'token_update',
  text: `
with message as (
  select * from unnest($1::bytea[], $2::text[], $3::bytea[], $4::text[], $5::boolean[], $6::bytea[],
    $11::bigint[], $12::bytea[], $13::smallint[]) with ordinality as q (fingerprint, device_key,
    sealed_push, topic, awaiting, unlock_token, device_id, unlock_digest, cell, ord)
), caller as (
  select m.*, d.id, d.enrollment_state, d.enrollment_number, d.proven_serial,
    d.sealed_push is null or d.push_state is distinct from 'ok' as was_mute
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
    failed_push_count = 0, last_push_result = null,
    topic = coalesce(c.topic, d.topic), cell = coalesce(c.cell, d.cell),
    awaiting_configuration = coalesce(c.awaiting, d.awaiting_configuration),
    enrolled_at = case when c.enrollment_state = 'authenticated' then now() else d.enrolled_at end,
    inventory_queued_at = case when c.enrollment_state = 'authenticated' then now()
      else d.inventory_queued_at end,
    tokenupdate_at = now(), last_seen = now()
  from caller c
  where d.id = c.id and c.enrollment_state in ('authenticated', 'enrolled')
  returning c.ord, d.id, c.enrollment_number, c.proven_serial, c.unlock_token, c.unlock_digest,
    c.was_mute, d.push_state, c.enrollment_state = 'authenticated' as is_first
), escrow as (
  insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
  select e.id, e.enrollment_number, e.proven_serial, 'unlock_token', e.unlock_token,
    e.unlock_digest
  from enrolled e where e.unlock_token is not null and ${isNewSecret({
    ...{ device: 'e.id', number: 'e.enrollment_number' },
    ...{ kind: "'unlock_token'", digest: 'e.unlock_digest' },
  })}
), inventory as (
  insert into commands (uuid, device_id, request_type, payload)
  select c.uuid, e.id, c.request_type, c.payload
  from unnest($7::bigint[], $8::uuid[], $9::text[], $10::bytea[])
    with ordinality as c (ord, uuid, request_type, payload, position)
  join enrolled e on e.ord = c.ord and e.is_first
  order by c.position
), pushed as (
  insert into device_pushes as p (device_id, due_at)
  select e.id, now() from enrolled e
  where e.push_state = 'ok' and (e.was_mute
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

/** The update's device; null when the caller is not to be let in. */
export type TokenUpdated = { deviceId: number; isFirst: boolean; isPushDue: boolean } | null;

interface TokenUpdatedRow {
  id: number | null;
  is_first: boolean;
  is_push_due: boolean;
}

async function updateTokens(db: Database, updates: TokenUpdateFacts[]): Promise<TokenUpdated[]> {
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
  ]);
  return rows.map(({ id, is_first: isFirst, is_push_due: isPushDue }) =>
    id === null ? null : { deviceId: id, isFirst, isPushDue },
  );
}

/** The statements behind check-ins that come in storms, gathered into batches as reports are. */
export interface CheckIns {
  authenticate: Authenticate;
  findCaller(who: CallerKey): Promise<CallerFacts>;
  /** Enrolls the device with its push token. */
  updateToken(update: TokenUpdateFacts): Promise<TokenUpdated>;
}

export function createCheckIns(db: Database, options: AuthenticateOptions = {}): CheckIns {
  const keyOf = ({ fingerprint }: CallerKey) => fingerprint.toString('latin1');
  const limits = { maxBatch: 16, maxInFlight: 2, keyOf };
  const finds = new MicroBatcher((callers: CallerKey[]) => findCallers(db, callers), limits);
  const tokens = new MicroBatcher((facts: TokenUpdateFacts[]) => updateTokens(db, facts), limits);
  return {
    authenticate: createAuthenticate(db, options),
    findCaller: (who) => finds.submit(who),
    updateToken: (update) => tokens.submit(update),
  };
}

const PROMOTE_RENEWAL = {
  name: 'promote_renewal',
  text: `
with spent as (
  update scep_challenges s set locked_at = coalesce(s.locked_at, now())
  from certificates c where c.fingerprint = $1 and s.certificate_id = c.id
  returning s.nonce
), held as (
  select d.id from device_identities i join devices d on d.id = i.device_id
  where i.fingerprint = $1 and (select count(*) from spent) >= 0
  for no key update of d
), promoted as (
  update device_identities set state = 'active', changed_at = now()
  where fingerprint = $1 and state = 'renewal' and (select count(*) from held) >= 0
  returning device_id
)
update device_identities i set state = 'superseded', changed_at = now()
from promoted p
where i.device_id = p.device_id and i.fingerprint <> $1 and i.state in ('active', 'renewal')`,
};

/**
 * A renewed certificate was used for the first time: from now on it is the only one. The challenge
 * behind it is spent first, as by Authenticate, then the device is held, in the order in which SCEP
 * takes the rows.
 */
export async function promoteRenewal(db: Database, fingerprint: Buffer): Promise<void> {
  await runStatement(db, PROMOTE_RENEWAL, [fingerprint]);
}
