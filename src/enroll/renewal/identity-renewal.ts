import { setImmediate } from 'node:timers/promises';
import type { CommandQueue, QueuedCommand } from '../../commands/queue.js';
import { isPendingStatus } from '../../db/connection/command-status.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  beginDueRenewals,
  claimRenewalOf,
  claimRenewals,
  type RenewalRow,
  updateRenewals,
} from '../../db/enroll/identity-renewal-repository.js';
import { AppError } from '../../errors.js';
import {
  type EnrollmentFor,
  type EnrollmentProfileDeps,
  type EnrollmentSettings,
  enrollmentProfile,
  readEnrollmentSettings,
} from '../enrollment-profile.js';
import { closeRenewals, failure, type RenewalProgress, stateAfter } from './renewal-progress.js';
import { judgeRenewal, nextLook } from './renewal-verdict.js';

export interface IdentityRenewalDeps extends EnrollmentProfileDeps {
  queue: Pick<CommandQueue, 'target' | 'addEach'>;
  /** Signs a profile like the enrollment profile; returns it unchanged if there is no certificate. */
  sign: (profile: Buffer) => Buffer;
}

/** Devices may be off this long; the lifetime of the challenge in the profile. */
const ATTEMPT_LIFE_MS = 30 * 86_400_000;
/** Shorter than the interval between two runs. */
const PUSH_SPREAD_MS = 9 * 60_000;
const ENROLL = '.enroll';

/**
 * Renews device identities by installing the enrollment profile again, with a challenge that is
 * valid for this enrollment of this device only. One row of `identity_renewals` tracks each.
 */
export class IdentityRenewals {
  constructor(private readonly deps: IdentityRenewalDeps) {}

  /** Whether the CA in use is ours. */
  async isOffered(): Promise<boolean> {
    return isOffered(await readEnrollmentSettings(this.deps.db.knex));
  }

  /** Begins the renewal of identities that are due for it. Returns how many. */
  async begin(limit: number): Promise<number> {
    return await beginDueRenewals(this.deps.db.knex, limit);
  }

  /** Advances up to `limit` renewals that are due. */
  async advance(limit: number): Promise<RenewalProgress> {
    return await inTransaction(this.deps.db, async (trx) => {
      const now = new Date();
      const rows = await claimRenewals(trx, limit);
      const judged = rows.map((row) => ({ row, verdict: judgeRenewal(row, now) }));
      const due = judged.filter(({ verdict }) => verdict.kind === 'attempt');
      const ids = await this.#attempt(
        trx,
        due.map(({ row }) => row),
        now,
      );
      await updateRenewals(trx, judged.flatMap(stateAfter));
      const renewed = await closeRenewals(trx, judged);
      return {
        examined: rows.length,
        queued: ids.length,
        renewed,
        failed: judged.flatMap(failure),
      };
    });
  }

  /**
   * Renews the identity of one device now, whatever its expiry. Returns the id of the command.
   * AppError 404 unknown device; 409 if it is not enrolled, has no identity that could be renewed, or
   * has a renewal under way.
   */
  async renew(trx: Transaction, deviceId: number): Promise<number> {
    const target = await this.deps.queue.target(trx, deviceId);
    if (target.enrollment_state !== 'enrolled')
      throw conflict(`device ${deviceId} is not enrolled`);
    const row = await claimRenewalOf(trx, deviceId);
    if (row?.active_fingerprint == null) {
      throw conflict(`device ${deviceId} has no valid identity left; it has to enroll again`);
    }
    if (row.udid === null && accountOf(row).account === undefined) {
      throw conflict(`device ${deviceId} is enrolled for a user without a known account`);
    }
    const isAnother = !row.active_fingerprint.equals(row.fingerprint);
    if (!isAnother) refuseSecond(row);
    const fingerprint = row.active_fingerprint;
    const current = isAnother ? { ...row, fingerprint, attempts: 0 } : row;
    const [id] = await this.#attempt(trx, [current]);
    if (id === undefined) throw new Error('no command was queued');
    return id;
  }

  async #attempt(trx: Transaction, rows: RenewalRow[], now = new Date()): Promise<number[]> {
    if (rows.length === 0) return [];
    const settings = await readEnrollmentSettings(trx);
    if (!isOffered(settings)) throw conflict('only identities by the internal SCEP are renewed');
    const expiresAt = new Date(now.getTime() + ATTEMPT_LIFE_MS);
    const wanted: { deviceId: number; command: QueuedCommand }[] = [];
    for (const row of rows) {
      const command = this.#command(row, settings, expiresAt);
      wanted.push({ deviceId: row.device_id, command });
      // Signing takes time; yield so that devices get their answers meanwhile.
      await setImmediate();
    }
    const spreadMs = rows.length > 1 ? PUSH_SPREAD_MS : 0;
    const ids = await this.deps.queue.addEach(trx, wanted, { spreadMs });
    const states = rows.map((row, index) => ({
      deviceId: row.device_id,
      fingerprint: row.fingerprint,
      problem: null,
      commandId: ids[index] ?? null,
      attempts: row.attempts + 1,
      nextAttemptAt: nextLook(now),
    }));
    await updateRenewals(trx, states);
    return ids;
  }

  #command(row: RenewalRow, settings: EnrollmentSettings, expiresAt: Date): QueuedCommand {
    const { device_id: deviceId, enrollment_number: enrollmentNumber } = row;
    const renewal = { deviceId, enrollmentNumber };
    const profile = enrollmentProfile(settingsOf(row, settings), this.deps, {
      challenge: { expiresAt, renewal },
      cell: row.cell,
      ...accountOf(row),
    });
    const parameters = { Payload: this.deps.sign(profile) };
    return { requestType: 'InstallProfile', parameters, options: { expiresAt } };
  }
}

function conflict(message: string): AppError {
  return new AppError('conflict', 409, message);
}

/**
 * A certificate of an external CA cannot be bound to an enrollment, so the device's next Authenticate
 * would begin a new one, and without an Authenticate the device would be refused.
 */
function isOffered({ scep }: EnrollmentSettings): boolean {
  return scep.source_type === 'InternalSCEP';
}

/** Devices refuse an update of the profile with another mode or account than they enrolled with. */
function accountOf(row: RenewalRow): Pick<EnrollmentFor, 'account'> {
  const { enrollment_method: method, managed_apple_account: managedAppleAccount } = row;
  if (managedAppleAccount === null) return {};
  const mode = { account_user: 'BYOD', account_device: 'ADDE' } as const;
  if (method !== 'account_user' && method !== 'account_device') return {};
  return { account: { mode: mode[method], managedAppleAccount } };
}

function refuseSecond({ device_id, command_id, status }: RenewalRow): void {
  if (!isPendingStatus(status)) return;
  throw conflict(`device ${device_id} is being renewed by command ${command_id} (${status})`);
}

/**
 * Devices refuse an update of their enrollment profile with another topic or identifier, so those of
 * the enrollment are used, whatever the settings are now.
 */
function settingsOf(row: RenewalRow, settings: EnrollmentSettings): EnrollmentSettings {
  const { topic, profile_identifier: identifier } = row;
  const organization = identifier?.endsWith(ENROLL)
    ? { ...settings.organization, payload_prefix: identifier.slice(0, -ENROLL.length) }
    : settings.organization;
  return { ...settings, organization, topic: topic ?? settings.topic };
}
