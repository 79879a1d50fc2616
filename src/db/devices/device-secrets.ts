import type { Knex } from 'knex';
import { type Database, runStatement } from '../connection/database.js';
import { runPrepared } from '../connection/prepared-statements.js';

/** What a command sets on the device. */
export type CommandSecretKind =
  | 'device_lock_pin'
  | 'erase_pin'
  | 'recovery_lock_password'
  | 'firmware_password'
  | 'admin_password';

export type SecretKind =
  | CommandSecretKind
  | 'unlock_token'
  | 'bootstrap_token'
  | 'activation_lock_bypass_code'
  | 'fde_personal_recovery_key_cms'
  | 'fde_personal_recovery_key_device_key'
  | 'filevault_recovery_key';

export interface SecretKey {
  deviceId: number;
  kind: SecretKind;
}

/** A value to store. Equal values have an equal `digest` of the secret box. */
export interface SealedSecret extends SecretKey {
  sealed: Buffer;
  digest: Buffer;
}

/** A secret of the device with this identity certificate (SHA-256). */
export interface OwnSecretKey extends SecretKey {
  fingerprint: Buffer;
}

interface Places {
  device: string;
  kind: string;
}

/**
 * SQL: the newest row of a kind that the present enrollment may receive: its own, and those of earlier
 * enrollments with the same proven serial number. All others may belong to another device.
 */
export function newest({ device, kind }: Places): string {
  return `
  select s.sealed, s.digest, s.enrollment_number,
    s.enrollment_number <> owner.enrollment_number as is_former
  from device_secrets s join devices owner on owner.id = s.device_id
  where s.device_id = ${device} and s.kind = ${kind}
    and (s.enrollment_number = owner.enrollment_number
      or lower(s.proven_serial) = lower(owner.proven_serial))
  order by s.id desc limit 1`;
}

/**
 * SQL: this enrollment's last value is another one. Under another master key no digest is equal, which
 * only costs one more row.
 */
export function isNewSecret(at: Places & { number: string; digest: string }): string {
  return `not exists (
    select from (${newest(at)}) c
    where c.digest = ${at.digest} and c.enrollment_number = ${at.number}
  )`;
}

/** SQL: the certificate is still the device's own; it may have enrolled again since the lookup. */
export const IS_OWN = (fingerprint: string) => `exists (
    select from device_identities i
    where i.fingerprint = ${fingerprint} and i.device_id = $1 and i.state in ('active', 'renewal')
  )`;

const PLACES = { device: 'd.id', number: 'd.enrollment_number', kind: '$2' };

const PUT = {
  name: 'put_secret',
  text: `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
select d.id, d.enrollment_number, d.proven_serial, $2, $4, $5 from devices d
where d.id = $1 and ${IS_OWN('$3')} and ${isNewSecret({ ...PLACES, digest: '$5' })}`,
};

/** Stores a value that the device sent, unless it equals the last one. */
export async function putSecret(
  db: Database,
  { deviceId, kind, fingerprint, sealed, digest }: OwnSecretKey & SealedSecret,
): Promise<void> {
  await runStatement(db, PUT, [deviceId, kind, fingerprint, sealed, digest]);
}

// History stays: an empty row means that there is no value now.
const REMOVE = {
  name: 'remove_secret',
  text: `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed)
select d.id, d.enrollment_number, d.proven_serial, $2, '' from devices d
where d.id = $1 and ${IS_OWN('$3')}
  and exists (select from (${newest(PLACES)}) c where octet_length(c.sealed) > 0)`,
};

/** Removes the value that the device would receive; its history stays. */
export async function removeSecret(
  db: Database,
  { deviceId, kind, fingerprint }: OwnSecretKey,
): Promise<void> {
  await runStatement(db, REMOVE, [deviceId, kind, fingerprint]);
}

const GET = {
  name: 'get_secret',
  text: `
select c.sealed, c.is_former from (${newest({ device: '$1', kind: '$2' })}) c
where ${IS_OWN('$3')}`,
};

export interface CurrentSecret {
  sealed: Buffer;
  /** From an earlier enrollment. */
  isFormer: boolean;
}

interface NewestRow {
  sealed: Buffer;
  is_former: boolean;
}

/** The value that the device receives. */
export async function getSecret(
  db: Database,
  { deviceId, kind, fingerprint }: OwnSecretKey,
): Promise<CurrentSecret | undefined> {
  const { rows } = await runStatement<NewestRow>(db, GET, [deviceId, kind, fingerprint]);
  const row = present(rows[0]);
  return row && { sealed: row.sealed, isFormer: row.is_former };
}

/** The sealed value that the server itself may use on the device. */
export async function findCurrentSecret(
  trx: Knex,
  { deviceId, kind }: SecretKey,
): Promise<Buffer | undefined> {
  const text = newest({ device: '?', kind: '?' });
  const { rows } = await trx.raw<{ rows: NewestRow[] }>(text, [deviceId, kind]);
  return present(rows[0])?.sealed;
}

function present(row: NewestRow | undefined): NewestRow | undefined {
  return row === undefined || row.sealed.length === 0 ? undefined : row;
}

const ESCROW = `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
select d.id, d.enrollment_number, d.proven_serial, given.kind, given.sealed, given.digest
from unnest(?::bigint[], ?::text[], ?::bytea[], ?::bytea[]) as given (device_id, kind, sealed, digest)
join devices d on d.id = given.device_id
where ${isNewSecret({ ...PLACES, kind: 'given.kind', digest: 'given.digest' })}
returning device_id as "deviceId", kind`;

/** Stores values that devices reported, unless they equal the last ones. Returns whose it stored. */
export async function escrowSecrets(
  trx: Knex.Transaction,
  secrets: readonly SealedSecret[],
): Promise<SecretKey[]> {
  if (secrets.length === 0) return [];
  const bindings = [
    secrets.map(({ deviceId }) => deviceId),
    secrets.map(({ kind }) => kind),
    secrets.map(({ sealed }) => sealed),
    secrets.map(({ digest }) => digest),
  ];
  return runPrepared<SecretKey>(trx, { text: ESCROW, bindings });
}

const ESCROW_OF_SERIAL = `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
select d.id, d.enrollment_number, :serial, :kind, :sealed, :digest from devices d
where d.id = :deviceId
returning id`;

/**
 * Stores a value that the server made for the device with this serial number, as proven by Apple,
 * whichever its enrollment. Returns the id of the row.
 */
export async function escrowOfSerial(
  trx: Knex.Transaction,
  secret: SealedSecret & { serial: string },
): Promise<number> {
  const { rows } = await trx.raw<{ rows: { id: number }[] }>(ESCROW_OF_SERIAL, { ...secret });
  const [row] = rows;
  if (row === undefined) throw new Error('the device of a secret is gone');
  return row.id;
}

export interface StoredSecret {
  id: number;
  kind: SecretKind;
  enrollment_number: number;
  created_at: Date;
  /** Empty if the device removed its value, or if it is not known. */
  sealed: Buffer;
  is_known: boolean;
}

/** One row of a device's escrow, of any enrollment. */
export async function findSecret(
  trx: Knex.Transaction,
  { deviceId, id }: { deviceId: number; id: number },
): Promise<StoredSecret | undefined> {
  return await trx('device_secrets')
    .where({ id, device_id: deviceId })
    .first<StoredSecret | undefined>(
      ...['id', 'kind', 'enrollment_number', 'created_at', 'sealed', 'is_known'],
    );
}

const IRREPLACEABLE = `
select distinct s.kind from device_secrets s
where s.device_id = ? and octet_length(s.sealed) > 0
  and s.kind not in ('unlock_token', 'bootstrap_token')
order by s.kind`;

/**
 * The kinds of secrets that someone may need after the device has left: not the tokens, which only
 * this server can use, and only while the device is enrolled.
 */
export async function irreplaceableSecrets(
  trx: Knex.Transaction,
  deviceId: number,
): Promise<SecretKind[]> {
  const { rows } = await trx.raw<{ rows: { kind: SecretKind }[] }>(IRREPLACEABLE, [deviceId]);
  return rows.map(({ kind }) => kind);
}

const LATEST = `
select s.sealed from device_secrets s
where s.id = :id and s.device_id = :deviceId and not exists (
  select from device_secrets n
  where n.device_id = s.device_id and n.kind = s.kind and n.id > s.id)`;

/** The sealed value of this row if it is the device's newest of its kind. */
export async function findLatestSecret(
  trx: Knex.Transaction,
  { deviceId, id }: { deviceId: number; id: number },
): Promise<Buffer | undefined> {
  const { rows } = await trx.raw<{ rows: { sealed: Buffer }[] }>(LATEST, { deviceId, id });
  return rows[0]?.sealed;
}

const NEWEST_OF_KIND = `
select max(s.id) as id from device_secrets s
where s.device_id = :deviceId and s.kind = :kind and octet_length(s.sealed) > 0`;

/** The id of the device's newest value of this kind, of any enrollment. */
export async function newestSecretId(
  trx: Knex.Transaction,
  key: SecretKey,
): Promise<number | undefined> {
  const { rows } = await trx.raw<{ rows: { id: number | null }[] }>(NEWEST_OF_KIND, { ...key });
  return rows[0]?.id ?? undefined;
}

const REPEAT = `
insert into device_secrets (device_id, enrollment_number, proven_serial, kind, sealed, digest)
select s.device_id, s.enrollment_number, s.proven_serial, s.kind, s.sealed, s.digest
from device_secrets s where s.id = :id`;

/** Makes an older value the newest again; the later ones stay as history. */
export async function repeatSecret(trx: Knex.Transaction, id: number): Promise<void> {
  await trx.raw(REPEAT, { id });
}
