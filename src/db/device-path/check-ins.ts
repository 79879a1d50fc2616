import { type Database, runStatement } from '../connection/database.js';
import { MicroBatcher, type MicroBatcherOptions } from '../connection/micro-batcher.js';
import type { PinState } from '../pki/identity-revocation.js';
import { type Authenticated, type AuthenticateOptions, AuthenticateStore } from './authenticate.js';
import type { AuthenticateFacts } from './authenticate-message.js';
import type { Caller } from './report-exchange.js';
import {
  type CallerKey,
  type TokenUpdated,
  type TokenUpdateFacts,
  updateTokens,
} from './token-update.js';

/** The sender's pin, and the facts of its device that decide which commands it gets. */
export interface CallerFacts extends Caller {
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
}

const LIMITS: MicroBatcherOptions<CallerKey> = {
  maxBatch: 16,
  maxInFlight: 2,
  keyOf: ({ fingerprint }) => fingerprint.toString('latin1'),
};

/** The statements behind check-ins, which come in storms: batched, as reports are. */
export class CheckIns {
  readonly #authenticates: AuthenticateStore;
  readonly #finds: MicroBatcher<CallerKey, CallerFacts>;
  readonly #tokens: MicroBatcher<TokenUpdateFacts, TokenUpdated>;

  constructor(db: Database, options: AuthenticateOptions = {}) {
    this.#authenticates = new AuthenticateStore(db, options);
    this.#finds = new MicroBatcher((callers: CallerKey[]) => findCallers(db, callers), LIMITS);
    this.#tokens = new MicroBatcher(
      (updates: TokenUpdateFacts[]) => updateTokens(db, updates),
      LIMITS,
    );
  }

  authenticate(facts: AuthenticateFacts): Promise<Authenticated> {
    return this.#authenticates.authenticate(facts);
  }

  findCaller(caller: CallerKey): Promise<CallerFacts> {
    return this.#finds.submit(caller);
  }

  /** Enrolls the device with its push token. */
  updateToken(update: TokenUpdateFacts): Promise<TokenUpdated> {
    return this.#tokens.submit(update);
  }
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

const PROMOTE_RENEWAL = {
  name: 'promote_renewal',
  text: `
with challenge_locked as (
  update scep_challenges s set locked_at = coalesce(s.locked_at, now())
  from certificates c where c.fingerprint = $1 and s.certificate_id = c.id
  returning s.nonce
), device_locked as (
  select d.id from device_identities i join devices d on d.id = i.device_id
  where i.fingerprint = $1 and (select count(*) from challenge_locked) >= 0
  for no key update of d
), promoted as (
  update device_identities set state = 'active', changed_at = now()
  where fingerprint = $1 and state = 'renewal' and (select count(*) from device_locked) >= 0
  returning device_id
)
update device_identities i set state = 'superseded', changed_at = now()
from promoted p
where i.device_id = p.device_id and i.fingerprint <> $1 and i.state in ('active', 'renewal')`,
};

/**
 * Makes a renewed certificate, on its first use, the device's only one. Its challenge is locked first,
 * as by Authenticate, and then the device: the order in which SCEP locks the rows.
 */
export async function promoteRenewal(db: Database, fingerprint: Buffer): Promise<void> {
  await runStatement(db, PROMOTE_RENEWAL, [fingerprint]);
}

const CHECK_OUT = {
  name: 'check_out',
  text: `
with caller as (
  select d.*
  from device_identities i join devices d on d.id = i.device_id
  where i.fingerprint = $1 and i.state in ('active', 'renewal')
    and lower(coalesce(d.udid, d.enrollment_id)) = $2
  for update of d
), unenrolled as (
  update devices d set
    enrollment_state = 'unenrolled', is_enrolled = false, sealed_push = null, push_state = null,
    unenrolled_at = now(), last_seen = now()
  from caller
  where d.id = caller.id and caller.enrollment_state in ('authenticated', 'enrolled')
  returning d.id
), former as (
  insert into former_enrollments (device_id, enrollment_number, enrollment_method, udid,
    enrollment_id, serial_number, managed_apple_account, fingerprint_sha256, authenticated_at,
    enrolled_at, end_reason)
  select id, enrollment_number, enrollment_method, udid, enrollment_id, serial_number,
    managed_apple_account, encode($1, 'hex'), authenticated_at, enrolled_at, 'checked out'
  from caller where enrollment_state = 'enrolled'
), cancelled as (
  update commands c set status = 'Cancelled', ended_at = now(), reason = 'unenrolled'
  from unenrolled u where c.device_id = u.id and c.is_pending
), signed_out as (
  update device_users s set is_enrolled = false, sealed_push = null, push_state = null
  from unenrolled u where s.device_id = u.id
), device_pushes_deleted as (
  delete from device_pushes p using unenrolled u where p.device_id = u.id
), ended as (
  update device_identities i set state = 'superseded', changed_at = now()
  from unenrolled u where i.device_id = u.id and i.state = 'renewal' and i.fingerprint <> $1
)
select id from caller`,
};

/**
 * Ends the enrollment (CheckOut). The record, its history and escrow stay; a renewed identity that was
 * never used does not. Returns false when the certificate is not the device's.
 */
export async function checkOutDevice(
  db: Database,
  { fingerprint, deviceKey }: CallerKey,
): Promise<boolean> {
  const { rows } = await runStatement(db, CHECK_OUT, [fingerprint, deviceKey]);
  return rows.length > 0;
}
