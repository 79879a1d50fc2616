import { type Database, runStatement } from '../database.js';
import { MicroBatcher } from './micro-batcher.js';

/** How a device answered a command; Idle carries no command. */
export type ReportStatus = 'Idle' | 'Acknowledged' | 'Error' | 'CommandFormatError' | 'NotNow';

/** One contact on the device channel: who calls, and what it reports. */
export interface Contact {
  /** SHA-256 of the identity certificate, 32 bytes. */
  fingerprint: Buffer;
  /** UDID or EnrollmentID of the message, in lower case. */
  deviceKey: string;
  status: ReportStatus;
  /** Null for Idle, and for a CommandUUID that is no UUID (which no command of ours has). */
  commandUuid: string | null;
  /** JSON text of the ErrorChain. */
  errorChain: string | null;
  /** The report as received, or sealed when it carries a secret. */
  result: Buffer | null;
}

export type PinState = 'active' | 'renewal' | 'superseded' | 'revoked' | 'tombstone';

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

const MANY = `unnest($1::bytea[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::bytea[])
  with ordinality as q (fingerprint, device_key, status, uuid, error_chain, result, ord)`;
const ONE = `(values ($1::bytea, $2::text, $3::text, $4::uuid, $5::text, $6::bytea, 1))
  as q (fingerprint, device_key, status, uuid, error_chain, result, ord)`;

/**
 * Identify, store the report and claim the next command, in one statement. All parts see the same
 * snapshot, so the command just reported is left out of the choice by its uuid. A report also
 * settles a command given up meanwhile (Expired, Cancelled), because the device did carry it out.
 */
function contactSql(source: string): string {
  return `
with contact as (
  select q.*, i.state as pin_state, d.id as device_id, d.enrollment_state,
    lower(coalesce(d.udid, d.enrollment_id)) = q.device_key as is_same_device
  from ${source}
  left join device_identities i on i.fingerprint = q.fingerprint
  left join devices d on d.id = i.device_id
), live as (
  select * from contact
  where is_same_device and enrollment_state = 'enrolled' and pin_state in ('active', 'renewal')
), reported as (
  update commands c set
    status = l.status,
    acknowledged_at = now(),
    error_chain = l.error_chain::jsonb,
    result = l.result,
    reason = null,
    ttl = case when l.status = 'NotNow' and c.status = 'Sent' then c.ttl + 1 else c.ttl end,
    needs_handling = l.status = 'Acknowledged' and c.request_type = any($7::text[])
  from live l
  where c.uuid = l.uuid and c.device_id = l.device_id and (
    c.is_pending
    or (c.status in ('Expired', 'Cancelled') and c.sent_at is not null and l.status <> 'NotNow'))
  returning l.ord, c.id, c.request_type, c.needs_handling
), next as (
  select l.ord, n.id, n.exhausted
  from live l cross join lateral (
    select c.id, c.status = 'Sent' and c.ttl <= 0 as exhausted
    from commands c
    where c.device_id = l.device_id
      and c.is_pending
      and c.uuid is distinct from l.uuid
      and (l.status <> 'NotNow' or c.status <> 'NotNow')
      and (c.after is null or c.after <= now())
      and (c.expires_at is null or c.expires_at > now())
    order by c.priority desc, c.id
    limit 1
    for update of c skip locked
  ) n
), sent as (
  update commands c set
    status = 'Sent', sent_at = now(), attempts = c.attempts + 1, ttl = greatest(c.ttl - 1, 0)
  from next n
  where c.id = n.id and not n.exhausted
  returning n.ord, c.uuid, c.payload
)
select contact.pin_state, contact.device_id, contact.enrollment_state, contact.is_same_device,
  reported.id as reported_id, reported.request_type as reported_type, reported.needs_handling,
  sent.uuid as next_uuid, sent.payload as next_payload, next.exhausted
from contact
left join reported using (ord)
left join next using (ord)
left join sent using (ord)
order by contact.ord`;
}

const CONTACT_MANY = { name: 'contact_many', text: contactSql(MANY) };
const CONTACT_ONE = { name: 'contact_one', text: contactSql(ONE) };

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
  /** Request types whose acknowledged reports a handler takes apart afterwards. */
  handledTypes: readonly string[];
}

/** The device path's one statement per request, gathered into small batches under load. */
export function createContactStore({ db, handledTypes }: ContactStoreOptions): ContactStore {
  async function runBatch(contacts: Contact[]): Promise<ContactAnswer[]> {
    const { rows } = await runStatement<ContactRow>(db, CONTACT_MANY, [
      contacts.map((contact) => contact.fingerprint),
      contacts.map((contact) => contact.deviceKey),
      contacts.map((contact) => contact.status),
      contacts.map((contact) => contact.commandUuid),
      contacts.map((contact) => contact.errorChain),
      contacts.map((contact) => contact.result),
      handledTypes,
    ]);
    return rows.map(toAnswer);
  }

  async function runOne(contact: Contact): Promise<ContactAnswer> {
    const { fingerprint, deviceKey, status, commandUuid, errorChain, result } = contact;
    const values = [fingerprint, deviceKey, status, commandUuid, errorChain, result, handledTypes];
    const { rows } = await runStatement<ContactRow>(db, CONTACT_ONE, values);
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
