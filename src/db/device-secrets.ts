import type { Knex } from 'knex';
import { type Database, runStatement } from './database.js';

export type SecretKind =
  | 'unlock_token'
  | 'bootstrap_token'
  | 'activation_lock_bypass_code'
  | 'fde_personal_recovery_key_cms'
  | 'fde_personal_recovery_key_device_key';

export interface SecretKey {
  deviceId: number;
  kind: SecretKind;
}

/** A value to keep. `digest` is the secret box's, by which equal values are told. */
export interface SealedSecret extends SecretKey {
  sealed: Buffer;
  digest: Buffer;
}

/** A secret of the device whose identity certificate this is, SHA-256. */
export interface OwnSecretKey extends SecretKey {
  fingerprint: Buffer;
}

interface Places {
  device: string;
  kind: string;
}

/**
 * SQL: the newest row of a kind that the present enrollment may be given. Those of enrollments before
 * `escrow_since` belong to whoever had the device then.
 */
function newest({ device, kind }: Places): string {
  return `
  select s.sealed, s.digest, s.enrollment_number
  from device_secrets s join devices owner on owner.id = s.device_id
  where s.device_id = ${device} and s.kind = ${kind}
    and s.enrollment_number >= owner.escrow_since
  order by s.id desc limit 1`;
}

/**
 * SQL: the enrollment of this number has not given this value last. Under another master key no
 * digest is equal, which costs one more row and nothing else.
 */
export function isNewSecret(at: Places & { number: string; digest: string }): string {
  return `not exists (
    select from (${newest(at)}) c
    where c.digest = ${at.digest} and c.enrollment_number = ${at.number}
  )`;
}

/** The certificate is still the device's own: it may have enrolled anew since it was looked up. */
const IS_OWN = (fingerprint: string) => `exists (
    select from device_identities i
    where i.fingerprint = ${fingerprint} and i.device_id = $1 and i.state in ('active', 'renewal')
  )`;

const PLACES = { device: 'd.id', number: 'd.enrollment_number', kind: '$2' };

const PUT = {
  name: 'put_secret',
  text: `
insert into device_secrets (device_id, enrollment_number, kind, sealed, digest)
select d.id, d.enrollment_number, $2, $4, $5 from devices d
where d.id = $1 and ${IS_OWN('$3')} and ${isNewSecret({ ...PLACES, digest: '$5' })}`,
};

/** Keeps a value that the device has sent, but not the one it has sent last once more. */
export async function putSecret(
  db: Database,
  { deviceId, kind, fingerprint, sealed, digest }: OwnSecretKey & SealedSecret,
): Promise<void> {
  await runStatement(db, PUT, [deviceId, kind, fingerprint, sealed, digest]);
}

// History stays: an empty row tells that there is none now.
const REMOVE = {
  name: 'remove_secret',
  text: `
insert into device_secrets (device_id, enrollment_number, kind, sealed)
select d.id, d.enrollment_number, $2, '' from devices d
where d.id = $1 and ${IS_OWN('$3')}
  and exists (select from (${newest(PLACES)}) c where octet_length(c.sealed) > 0)`,
};

/** Takes the value away that the device would be given; its history stays. */
export async function removeSecret(
  db: Database,
  { deviceId, kind, fingerprint }: OwnSecretKey,
): Promise<void> {
  await runStatement(db, REMOVE, [deviceId, kind, fingerprint]);
}

const GET = {
  name: 'get_secret',
  text: `select c.sealed from (${newest({ device: '$1', kind: '$2' })}) c where ${IS_OWN('$3')}`,
};

/** What the device may be given back, sealed. */
export async function getSecret(
  db: Database,
  { deviceId, kind, fingerprint }: OwnSecretKey,
): Promise<Buffer | undefined> {
  const { rows } = await runStatement<{ sealed: Buffer }>(db, GET, [deviceId, kind, fingerprint]);
  return present(rows[0]);
}

/** The same for the server itself: what it may use on the device, sealed. */
export async function findCurrentSecret(
  trx: Knex,
  { deviceId, kind }: SecretKey,
): Promise<Buffer | undefined> {
  const text = newest({ device: '?', kind: '?' });
  const { rows } = await trx.raw<{ rows: { sealed: Buffer }[] }>(text, [deviceId, kind]);
  return present(rows[0]);
}

function present(row: { sealed: Buffer } | undefined): Buffer | undefined {
  return row === undefined || row.sealed.length === 0 ? undefined : row.sealed;
}

const ESCROW = `
insert into device_secrets (device_id, enrollment_number, kind, sealed, digest)
select d.id, d.enrollment_number, :kind, :sealed, :digest from devices d
where d.id = :deviceId and ${isNewSecret({ ...PLACES, kind: ':kind', digest: ':digest' })}`;

/** Keeps a value that the device has reported, but not the last one once more. */
export async function escrowSecret(trx: Knex.Transaction, secret: SealedSecret): Promise<void> {
  await trx.raw(ESCROW, { ...secret });
}

export interface KeptSecret {
  id: number;
  kind: SecretKind;
  enrollment_number: number;
  created_at: Date;
  /** Empty where the device has taken its value away. */
  sealed: Buffer;
}

/** One row of a device's escrow, of whichever enrollment. */
export async function findSecret(
  trx: Knex.Transaction,
  { deviceId, id }: { deviceId: number; id: number },
): Promise<KeptSecret | undefined> {
  return await trx('device_secrets')
    .where({ id, device_id: deviceId })
    .first<KeptSecret | undefined>('id', 'kind', 'enrollment_number', 'created_at', 'sealed');
}
