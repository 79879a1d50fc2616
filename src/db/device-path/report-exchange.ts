import { type Database, runStatement } from '../connection/database.js';
import { MicroBatcher } from '../connection/micro-batcher.js';
import type { PinState } from '../pki/identity-revocation.js';
import { KnownPayloads, type PayloadSnapshot } from './known-payloads.js';
import { EXCHANGE } from './report-exchange-sql.js';

/** One report to store, and the device or user that sent it. */
export interface IncomingReport {
  /** SHA-256 of the identity certificate, 32 bytes. */
  fingerprint: Buffer;
  /** UDID or EnrollmentID of the message, in lower case. */
  deviceKey: string;
  /** Set on the user channel: each user has a separate queue. */
  userKey?: string | undefined;
  /** The Status of the message. */
  status: string;
  /** Null for Idle, and for a CommandUUID that is not a UUID, which Muster never sends. */
  commandUuid: string | null;
  /** JSON text of the ErrorChain. */
  errorChain: string | null;
  /** The report as received, or sealed when it carries a secret. */
  result: Buffer | null;
}

/** What the database knows of the sender; every member is null for a certificate never pinned. */
export interface Caller {
  pinState: PinState | null;
  deviceId: number | null;
  enrollmentState: string | null;
  /** The certificate is pinned to the device that the message names. */
  isSameDevice: boolean;
}

/** What a profile is rendered with. */
export interface ProfileValues {
  /** The PayloadUUID of the rendered profile. */
  uuid: string;
  /** By the names of variables: a text, or the id and version of a secret. */
  values: Record<string, string | [id: number, version: number]>;
  /** The secrets of those that are still there: version, and sealed value in base64. */
  secrets: Record<string, [version: number, sealed: string]> | null;
}

/** A command to send, and the facts that its device must still fit. */
export interface NextCommand {
  uuid: string;
  /** Its own payload, or the body that it shares with others: without its CommandUUID. */
  payload: Buffer;
  isShared: boolean;
  /** Values for a profile that is rendered for this device. */
  values: ProfileValues | undefined;
  requestType: string;
  /** An admin queued it although the device does not fit. */
  isForced: boolean;
  /** JSON text of the device's facts, the columns of `EligibilityFacts` without `id`. */
  facts: string;
}

export interface ExchangeResult extends Caller {
  /** The command that the report answered; null when it named none that waits for an answer. */
  reported: { id: number; requestType: string; needsHandling: boolean } | null;
  /** The next command, now marked Sent. */
  next: NextCommand | null;
  /** The next command has no offers left: expire it, then call `exchange` again. */
  isNextExhausted: boolean;
}

interface ExchangeRow {
  pin_state: PinState | null;
  device_id: number | null;
  enrollment_state: string | null;
  is_same_device: boolean | null;
  reported_id: number | null;
  reported_type: string | null;
  needs_handling: boolean | null;
  next_uuid: string | null;
  next_payload: Buffer | null;
  next_sha256: Buffer | null;
  next_body: Buffer | null;
  next_values: Omit<ProfileValues, 'secrets'> | null;
  next_secrets: ProfileValues['secrets'];
  next_type: string | null;
  next_forced: boolean | null;
  next_facts: string | null;
  exhausted: boolean | null;
}

export interface ReportExchangeOptions {
  db: Database;
  /**
   * Request types whose acknowledged reports a handler reads later. On the user channel, a handler reads only
   * ProfileList: the other reports do not describe the device.
   */
  handledTypes: readonly string[];
}

/** The device path's one statement per request, for either channel. Throws the driver's error. */
export class ReportExchange {
  readonly #device: Channel;
  readonly #user: Channel;

  constructor({ db, handledTypes }: ReportExchangeOptions) {
    const payloads = new KnownPayloads();
    this.#device = new Channel({ db, handledTypes }, payloads, 'device');
    const ofUsers = handledTypes.filter((type) => type === 'ProfileList');
    this.#user = new Channel({ db, handledTypes: ofUsers }, payloads, 'user');
  }

  /** Stores the report and claims the next command of its sender. */
  exchange(report: IncomingReport): Promise<ExchangeResult> {
    return (report.userKey === undefined ? this.#device : this.#user).exchange(report);
  }
}

/** Buffers inside arrays travel as hex; beyond this size a report goes alone, as binary. */
const LARGE_RESULT = 8 * 1024;

/** Statements at once; each takes a core of PostgreSQL. */
const MAX_IN_FLIGHT = 4;
/**
 * Of the connections of the device path. Of several processes on one machine each has fewer, so that their batches
 * are as large, and as cheap for each report, as those of one.
 */
const SHARE_IN_FLIGHT = 0.4;

/** Reports of one channel, gathered into small batches under load. */
class Channel {
  readonly #db: Database;
  readonly #channel: keyof typeof EXCHANGE;
  readonly #handledTypes: readonly string[];
  readonly #payloads: KnownPayloads;
  readonly #batcher: MicroBatcher<IncomingReport, ExchangeResult>;

  constructor(
    { db, handledTypes }: ReportExchangeOptions,
    payloads: KnownPayloads,
    channel: keyof typeof EXCHANGE,
  ) {
    this.#db = db;
    this.#channel = channel;
    this.#handledTypes = handledTypes;
    this.#payloads = payloads;
    this.#batcher = new MicroBatcher((reports: IncomingReport[]) => this.#runBatch(reports), {
      maxBatch: 16,
      maxInFlight: Math.min(MAX_IN_FLIGHT, Math.ceil(db.poolSize * SHARE_IN_FLIGHT)),
      keyOf: ({ fingerprint }: IncomingReport) => fingerprint.toString('latin1'),
    });
  }

  exchange(report: IncomingReport): Promise<ExchangeResult> {
    const isLarge = (report.result?.length ?? 0) > LARGE_RESULT;
    return isLarge ? this.#runOne(report) : this.#batcher.submit(report);
  }

  async #runBatch(reports: IncomingReport[]): Promise<ExchangeResult[]> {
    const known = this.#payloads.snapshot();
    const { rows } = await runStatement<ExchangeRow>(this.#db, EXCHANGE[this.#channel].many, [
      reports.map((report) => report.fingerprint),
      reports.map((report) => report.deviceKey),
      reports.map((report) => report.status),
      reports.map((report) => report.commandUuid),
      reports.map((report) => report.errorChain),
      reports.map((report) => report.result),
      this.#handledTypes,
      known.hashes,
      ...(this.#channel === 'user' ? [reports.map(({ userKey }) => userKey)] : []),
    ]);
    return rows.map((row) => toResult(row, known));
  }

  async #runOne(report: IncomingReport): Promise<ExchangeResult> {
    const known = this.#payloads.snapshot();
    const { rows } = await runStatement<ExchangeRow>(this.#db, EXCHANGE[this.#channel].one, [
      report.fingerprint,
      report.deviceKey,
      report.status,
      report.commandUuid,
      report.errorChain,
      report.result,
      this.#handledTypes,
      known.hashes,
      ...(this.#channel === 'user' ? [report.userKey] : []),
    ]);
    return toResult(rows[0] as ExchangeRow, known);
  }
}

function toResult(row: ExchangeRow, known: PayloadSnapshot): ExchangeResult {
  return {
    pinState: row.pin_state,
    deviceId: row.device_id,
    enrollmentState: row.enrollment_state,
    isSameDevice: row.is_same_device === true,
    reported:
      row.reported_id === null
        ? null
        : {
            id: row.reported_id,
            requestType: row.reported_type ?? '',
            needsHandling: row.needs_handling === true,
          },
    next: nextOf(row, known),
    isNextExhausted: row.exhausted === true,
  };
}

function nextOf(row: ExchangeRow, known: PayloadSnapshot): NextCommand | null {
  const { next_uuid: uuid, next_type: requestType, next_facts: facts, next_sha256: sha256 } = row;
  const payload = sha256 === null ? row.next_payload : known.bodyOf(sha256, row.next_body);
  if (uuid === null || !payload || requestType === null || facts === null) return null;
  const isForced = row.next_forced === true;
  const { next_values, next_secrets: secrets } = row;
  const values = next_values === null ? undefined : { ...next_values, secrets };
  return { uuid, payload, isShared: sha256 !== null, values, requestType, isForced, facts };
}
