import { type Database, runStatement } from '../connection/database.js';
import { toAppError } from '../connection/sqlstate.js';
import type { ReplacedEnrollment, ReplacedRow } from '../enroll/replaced-enrollment.js';
import { FACTS } from './authenticate-message.js';
import { AUTHENTICATE } from './authenticate-statement.js';
import { MicroBatcher } from './micro-batcher.js';

export type Platform = 'iOS' | 'macOS' | 'tvOS' | 'visionOS' | 'watchOS';

/** What an Authenticate message says; absent facts are null and leave what is known as it is. */
export interface AuthenticateFacts {
  fingerprint: Buffer;
  /** SHA-256 of the certificate of the CA that issued it; null where that need not be known. */
  issuer: Buffer | null;
  /** Whether an enrollment may begin with it; if not, it serves the one that it belongs to. */
  mayEnroll: boolean;
  /** Until when the certificate is good, and from when on it is to be renewed. */
  notAfter: Date;
  renewAt: Date;
  udid: string | null;
  enrollmentId: string | null;
  topic: string | null;
  platform: Platform | null;
  serialNumber: string | null;
  deviceName: string | null;
  model: string | null;
  modelName: string | null;
  productName: string | null;
  osVersion: string | null;
  buildVersion: string | null;
  imei: string | null;
  meid: string | null;
  /** The label of the URL that the message came to. */
  cell: number | null;
}

/**
 * - `held`: refused until an admin approves it; the attempt is recorded.
 * - `enrolling`: a new enrollment begins and awaits its TokenUpdate.
 * - `known`: the same enrollment again (its own or its renewed certificate); nothing was reset.
 * - `moving`: the UDID must be taken from the record `namedId` first; nothing was changed.
 * - the others: refused, and nothing was changed.
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
  /** A second record of the same serial number, known by nothing else: to be merged into it. */
  spareId: number | null;
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
  /** Of the row in `enrollment_requests`. */
  requestId: number;
  /** The enrolled device. */
  deviceId: number;
  /** How often this certificate has tried. */
  attempts: number;
}

/** What the record says now, as far as it decides what the device is asked. */
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
  spare_id: number | null;
  named_id: number | null;
  method: string;
  is_proven: boolean;
  is_replacement: boolean;
  held_request_id: number | null;
  held_device_id: number | null;
  held_attempts: number | null;
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

function toAuthenticated(row: AuthenticateRow, facts: AuthenticateFacts): Authenticated {
  const { outcome, device_id: deviceId, platform } = row;
  const { method, is_proven: isProven } = row;
  const replaced = replacedBy(row, facts);
  const held = heldBy(row);
  const others = { spareId: row.spare_id, namedId: row.named_id, method, isProven, replaced, held };
  if (deviceId !== null) {
    const facts = { platform, osVersion: row.os_version, isSupervised: row.is_supervised };
    return { outcome, device: { deviceId, ...facts }, ...others };
  }
  // Another Authenticate of the same device came first: this one changed nothing.
  const isAccepted = outcome === 'enrolling' || outcome === 'known';
  return { outcome: isAccepted ? 'raced' : outcome, device: null, ...others };
}

export interface AuthenticateOptions {
  /** No Authenticate begins an enrollment. */
  isClosed?: boolean;
  /** An unproven Authenticate of an enrolled device waits for an admin. */
  isHolding?: boolean;
}

/** Pins the certificate to the device and begins an enrollment, or refuses and changes nothing. */
export type Authenticate = (facts: AuthenticateFacts) => Promise<Authenticated>;

const RACED: Authenticated = {
  ...{ outcome: 'raced', device: null, spareId: null, namedId: null },
  ...{ method: 'profile', isProven: false, replaced: null, held: null },
};

export function createAuthenticate(
  db: Database,
  { isClosed = false, isHolding = false }: AuthenticateOptions = {},
): Authenticate {
  const run = async (messages: AuthenticateFacts[]) => {
    const { rows } = await runStatement<AuthenticateRow>(db, AUTHENTICATE, [
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
  };
  const batcher = new MicroBatcher(run, {
    maxBatch: 16,
    maxInFlight: 2,
    keyOf: (facts: AuthenticateFacts) => (facts.udid ?? facts.enrollmentId ?? '').toLowerCase(),
  });
  return async (facts) => {
    try {
      return await batcher.submit(facts);
    } catch (error) {
      // Another one took the UDID, or an admin a link or tag away, while this one was under way.
      if (toAppError(error).status !== 409) throw error;
      return RACED;
    }
  };
}
