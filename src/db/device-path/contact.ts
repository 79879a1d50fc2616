import { type Database, runStatement } from '../connection/database.js';
import type { PinState } from '../pki/identity-revocation.js';
import { CONTACT } from './contact-sql.js';
import { MicroBatcher } from './micro-batcher.js';

/** How a device answered a command; Idle carries no command. */
export type ReportStatus = 'Idle' | 'Acknowledged' | 'Error' | 'CommandFormatError' | 'NotNow';

/** One contact: who calls, and what it reports. */
export interface Contact {
  /** SHA-256 of the identity certificate, 32 bytes. */
  fingerprint: Buffer;
  /** UDID or EnrollmentID of the message, in lower case. */
  deviceKey: string;
  /** Of a user of the device, whose queue is another; absent on the device channel. */
  userKey?: string;
  status: ReportStatus;
  /** Null for Idle, and for a CommandUUID that is no UUID (which no command of ours has). */
  commandUuid: string | null;
  /** JSON text of the ErrorChain. */
  errorChain: string | null;
  /** The report as received, or sealed when it carries a secret. */
  result: Buffer | null;
}

/** What the database knows of who calls; every member is null for a certificate never pinned. */
export interface Caller {
  pinState: PinState | null;
  deviceId: number | null;
  enrollmentState: string | null;
  /** The certificate is pinned to the device that the message names. */
  isSameDevice: boolean;
}

export interface ContactAnswer extends Caller {
  /** The command the report settled; null when it named none that still waits for an answer. */
  reported: { id: number; requestType: string; needsHandling: boolean } | null;
  /** Payload of the next command, now marked Sent. */
  next: { uuid: string; payload: Buffer } | null;
  /** The next command in line has used up its offers: expire it, then ask again. */
  isNextExhausted: boolean;
}

interface ContactRow {
  pin_state: PinState | null;
  device_id: number | null;
  enrollment_state: string | null;
  is_same_device: boolean | null;
  reported_id: number | null;
  reported_type: string | null;
  needs_handling: boolean | null;
  next_uuid: string | null;
  next_payload: Buffer | null;
  exhausted: boolean | null;
}

/** Buffers inside arrays travel as hex; beyond this size a report goes alone, as binary. */
const LARGE_RESULT = 8 * 1024;

function toAnswer(row: ContactRow): ContactAnswer {
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
    next:
      row.next_uuid === null || row.next_payload === null
        ? null
        : { uuid: row.next_uuid, payload: row.next_payload },
    isNextExhausted: row.exhausted === true,
  };
}

export interface ContactStore {
  contact(contact: Contact): Promise<ContactAnswer>;
}

export interface ContactStoreOptions {
  db: Database;
  /**
   * Request types whose acknowledged reports a handler takes apart afterwards. What a user's session
   * reports is stored and no more: it says nothing of the device.
   */
  handledTypes: readonly string[];
}

type Channel = keyof typeof CONTACT;

/** The device path's one statement per request, gathered into small batches under load. */
function createChannel(channel: Channel, { db, handledTypes }: ContactStoreOptions): ContactStore {
  const { many, one } = CONTACT[channel];

  async function runBatch(contacts: Contact[]): Promise<ContactAnswer[]> {
    const { rows } = await runStatement<ContactRow>(db, many, [
      contacts.map((contact) => contact.fingerprint),
      contacts.map((contact) => contact.deviceKey),
      contacts.map((contact) => contact.status),
      contacts.map((contact) => contact.commandUuid),
      contacts.map((contact) => contact.errorChain),
      contacts.map((contact) => contact.result),
      handledTypes,
      ...(channel === 'user' ? [contacts.map(({ userKey }) => userKey)] : []),
    ]);
    return rows.map(toAnswer);
  }

  async function runOne(contact: Contact): Promise<ContactAnswer> {
    const { fingerprint, deviceKey, status, commandUuid, errorChain, result } = contact;
    const values = [fingerprint, deviceKey, status, commandUuid, errorChain, result, handledTypes];
    const own = channel === 'user' ? [contact.userKey] : [];
    const { rows } = await runStatement<ContactRow>(db, one, [...values, ...own]);
    return toAnswer(rows[0] as ContactRow);
  }

  const batcher = new MicroBatcher(runBatch, {
    maxBatch: 16,
    maxInFlight: 4,
    keyOf: (contact: Contact) => contact.fingerprint.toString('latin1'),
  });

  return {
    contact: (contact) =>
      (contact.result?.length ?? 0) > LARGE_RESULT ? runOne(contact) : batcher.submit(contact),
  };
}

/** Both channels; each contact goes to its own. */
export function createContactStore({ db, handledTypes }: ContactStoreOptions): ContactStore {
  const device = createChannel('device', { db, handledTypes });
  const user = createChannel('user', { db, handledTypes: [] });
  return {
    contact: (contact) => (contact.userKey === undefined ? device : user).contact(contact),
  };
}
