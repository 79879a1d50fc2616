import { type Database, runStatement } from '../connection/database.js';
import { MicroBatcher } from '../connection/micro-batcher.js';
import { toAppError } from '../connection/sqlstate.js';
import type { ReplacedEnrollment, ReplacedRow } from '../enroll/replaced-enrollment.js';
import { type AuthenticateFacts, FACTS } from './authenticate-message.js';
import { AUTHENTICATE } from './authenticate-statement.js';

/**
 * - `enrolling`: a new enrollment begins and waits for its TokenUpdate.
 * - `known`: the same enrollment again, with its own or its renewed certificate; nothing was reset.
 * - `moving`: the UDID must be removed from the record `namedId` first; nothing was changed.
 * - `held`: refused until an admin approves it; the attempt was stored.
 * - all others: refused, and nothing was changed.
 */
export type AuthenticateOutcome =
  | 'enrolling'
  | 'known'
  | 'moving'
  | 'other_device'
  | 'exchange_only'
  | 'request_gone'
  | 'other_than_requested'
  | 'request_spent'
  | 'other_account'
  | 'unproven_serial'
  | 'closed'
  | 'held'
  | 'superseded'
  | 'revoked'
  | 'untrusted_issuer'
  | 'raced';

export interface Authenticated {
  outcome: AuthenticateOutcome;
  /** Null when refused or raced. */
  device: KnownDevice | null;
  /** A second record with the same serial number and no other identifier, to be merged into it. */
  duplicateId: number | null;
  /** The record that has the UDID. */
  namedId: number | null;
  /** How the device got its certificate. */
  method: string;
  /** Whether Apple's certificate has shown which device it is. */
  isProven: boolean;
  replaced: ReplacedEnrollment | null;
  held: HeldEnrollment | null;
}

/** An Authenticate that waits for an admin. */
export interface HeldEnrollment {
  /** Id of the row in `enrollment_requests`. */
  requestId: number;
  /** The enrolled device. */
  deviceId: number;
  /** How often this certificate has tried. */
  attempts: number;
}

/** The stored facts that decide which commands the device gets. */
export interface KnownDevice {
  deviceId: number;
  platform: string | null;
  osVersion: string | null;
  isSupervised: boolean | null;
}

interface AuthenticateRow extends ReplacedRow {
  outcome: AuthenticateOutcome;
  device_id: number | null;
  platform: string | null;
  os_version: string | null;
  is_supervised: boolean | null;
  duplicate_id: number | null;
  named_id: number | null;
  method: string;
  is_proven: boolean;
  is_replacement: boolean;
  held_request_id: number | null;
  held_device_id: number | null;
  held_attempts: number | null;
}

export interface AuthenticateOptions {
  /** No Authenticate begins an enrollment. */
  isClosed?: boolean;
  /** An unproven Authenticate of an enrolled device waits for an admin. */
  isHolding?: boolean;
}

const RACED: Authenticated = {
  outcome: 'raced',
  device: null,
  duplicateId: null,
  namedId: null,
  method: 'profile',
  isProven: false,
  replaced: null,
  held: null,
};

/** Answers Authenticate messages, several in one statement under load. */
export class AuthenticateStore {
  readonly #db: Database;
  readonly #options: AuthenticateOptions;
  readonly #batcher = new MicroBatcher((messages: AuthenticateFacts[]) => this.#run(messages), {
    maxBatch: 16,
    maxInFlight: 2,
    keyOf: ({ udid, enrollmentId }: AuthenticateFacts) =>
      (udid ?? enrollmentId ?? '').toLowerCase(),
  });

  constructor(db: Database, options: AuthenticateOptions = {}) {
    this.#db = db;
    this.#options = options;
  }

  /** Pins the certificate to the device and begins an enrollment, or refuses and changes nothing. */
  async authenticate(facts: AuthenticateFacts): Promise<Authenticated> {
    try {
      return await this.#batcher.submit(facts);
    } catch (error) {
      // Meanwhile another Authenticate claimed the UDID, or an admin deleted the link or its tag.
      if (toAppError(error).status !== 409) throw error;
      return RACED;
    }
  }

  async #run(messages: AuthenticateFacts[]): Promise<Authenticated[]> {
    const { isClosed = false, isHolding = false } = this.#options;
    const { rows } = await runStatement<AuthenticateRow>(this.#db, AUTHENTICATE, [
      messages.map((facts) => facts.fingerprint),
      messages.map((facts) => facts.udid),
      messages.map((facts) => facts.enrollmentId),
      messages.map((facts) => facts.issuer),
      messages.map((facts) => facts.mayEnroll),
      messages.map((facts) => facts.notAfter),
      messages.map((facts) => facts.renewAt),
      isClosed,
      messages.map((facts) => facts.cell),
      isHolding,
      ...FACTS.map(([, read]) => messages.map(read)),
    ]);
    return rows.map((row, index) => toAuthenticated(row, messages[index] as AuthenticateFacts));
  }
}

function toAuthenticated(row: AuthenticateRow, facts: AuthenticateFacts): Authenticated {
  const { outcome, device_id: deviceId, platform } = row;
  const { method, is_proven: isProven } = row;
  const replaced = replacedBy(row, facts);
  const held = heldBy(row);
  const others = {
    duplicateId: row.duplicate_id,
    namedId: row.named_id,
    method,
    isProven,
    replaced,
    held,
  };
  if (deviceId !== null) {
    const facts = { platform, osVersion: row.os_version, isSupervised: row.is_supervised };
    return { outcome, device: { deviceId, ...facts }, ...others };
  }
  // Another Authenticate of the same device was first: this one changed nothing.
  const isAccepted = outcome === 'enrolling' || outcome === 'known';
  return { outcome: isAccepted ? 'raced' : outcome, device: null, ...others };
}

function replacedBy(row: AuthenticateRow, { fingerprint }: AuthenticateFacts) {
  if (!row.is_replacement) return null;
  return {
    formerMethod: row.former_method,
    method: row.method,
    provenSerial: row.proven_serial,
    isProven: row.is_proven,
    formerFingerprint: row.former_fingerprint,
    fingerprint: fingerprint.toString('hex'),
  };
}

function heldBy(row: AuthenticateRow): HeldEnrollment | null {
  const { held_request_id: requestId, held_device_id: deviceId, held_attempts: attempts } = row;
  if (requestId === null || deviceId === null || attempts === null) return null;
  return { requestId, deviceId, attempts };
}
