import type { Knex } from 'knex';

/** The columns of `profiles` that its current version determines. */
export interface ProfileRecord {
  identifier: string;
  uuid: string;
  display_name: string | null;
  description: string | null;
  organization: string | null;
  version: number;
  scope: string;
  removal_disallowed: boolean | null;
  expiration_date: Date | null;
  removal_date: Date | null;
  duration_until_removal: number | null;
  consent_en: string | null;
  holds_secrets: boolean;
  is_signed: boolean;
  signer: string | null;
}

export interface ProfileVersionRecord {
  profile_id: number;
  number: number;
  uuid: string;
  format: 'xml' | 'binary';
  is_signed: boolean;
  signer: string | null;
  signer_fingerprint_sha256: string | null;
  signer_is_trusted: boolean | null;
  holds_secrets: boolean;
  /** Bytes of the file. */
  size: number;
  content_digest: Buffer;
  sealed_original: Buffer;
  sealed_content: Buffer;
  warnings: { pointer: string; detail: string }[];
  variables: string[];
  is_rendered: boolean;
  is_for_user: boolean;
  /** See `platformsOf`. */
  platforms: Record<string, object> | null;
  uploaded_by: string;
}

export interface ProfilePayloadRecord {
  /** From 0. */
  position: number;
  payload_type: string;
  identifier: string;
  uuid: string;
  version: number;
  display_name: string | null;
  description: string | null;
  organization: string | null;
  is_known: boolean;
  sealed_content: Buffer;
}

/** The current state of a profile, locked until the transaction ends. */
export interface LockedProfile {
  id: number;
  current_version: number;
  content_digest: Buffer;
  warnings: ProfileVersionRecord['warnings'];
}

/** One version of a profile. */
export interface StoredVersion {
  id: number;
  number: number;
  identifier: string;
  holds_secrets: boolean;
}

/** The profile with this identifier, ignoring case. */
export async function lockProfile(
  trx: Knex.Transaction,
  identifier: string,
): Promise<LockedProfile | undefined> {
  const profile = await trx('profiles')
    .whereRaw('lower(identifier) = lower(?)', [identifier])
    .forUpdate()
    .first<{ id: number; current_version: number } | undefined>('id', 'current_version');
  if (profile === undefined) return undefined;
  const version = await trx('profile_versions')
    .where({ profile_id: profile.id, number: profile.current_version })
    .first<Pick<LockedProfile, 'content_digest' | 'warnings'>>('content_digest', 'warnings');
  return { ...profile, ...version };
}

/** The new id; undefined if the identifier is taken. */
export async function insertProfile(
  trx: Knex.Transaction,
  record: ProfileRecord,
): Promise<number | undefined> {
  const [row] = await trx('profiles')
    .insert(record)
    .onConflict()
    .ignore()
    .returning<{ id: number }[]>('id');
  return row?.id;
}

export async function updateProfile(
  trx: Knex.Transaction,
  id: number,
  record: ProfileRecord & { current_version: number },
): Promise<void> {
  await trx('profiles')
    .where({ id })
    .update({ ...record, updated_at: trx.fn.now() });
}

/** Stores a version with its payloads, which replace the profile's former ones. */
export async function insertProfileVersion(
  trx: Knex.Transaction,
  { warnings, ...record }: ProfileVersionRecord,
  payloads: ProfilePayloadRecord[],
): Promise<void> {
  const { profile_id } = record;
  const [row] = await trx('profile_versions')
    .insert({ ...record, warnings: JSON.stringify(warnings) })
    .returning<{ id: number }[]>('id');
  if (row === undefined) throw new Error('insert returned no row');
  await trx('profile_payloads').where({ profile_id }).update({ profile_id: null });
  if (payloads.length === 0) return;
  await trx('profile_payloads').insert(
    payloads.map((payload) => ({ ...payload, profile_id, profile_version_id: row.id })),
  );
}

/** The ids of the profile's payloads, in the order of the file. */
export async function listPayloadIds(trx: Knex.Transaction, profile_id: number): Promise<number[]> {
  const rows = await trx('profile_payloads')
    .where({ profile_id })
    .orderBy('position')
    .select<{ id: number }[]>('id');
  return rows.map(({ id }) => id);
}

/** One version of a profile, by default the current one. */
export async function findProfileVersion(
  trx: Knex.Transaction,
  id: number,
  number?: number,
): Promise<StoredVersion | undefined> {
  return await trx('profile_versions as v')
    .join('profiles as p', 'p.id', 'v.profile_id')
    .where({ 'p.id': id, 'v.number': number ?? trx.ref('p.current_version') })
    .first<StoredVersion | undefined>('v.id', 'v.number', 'p.identifier', 'v.holds_secrets');
}

/** The file of a version as it was uploaded, sealed. */
export async function readSealedOriginal(trx: Knex.Transaction, id: number): Promise<Buffer> {
  const row = await trx('profile_versions')
    .where({ id })
    .first<{ sealed_original: Buffer }>('sealed_original');
  return row.sealed_original;
}

/** The top level of a version and its payloads in their order, each sealed. */
export async function readSealedContent(
  trx: Knex.Transaction,
  id: number,
): Promise<{ content: Buffer; payloads: Buffer[] }> {
  const row = await trx('profile_versions')
    .where({ id })
    .first<{ sealed_content: Buffer }>('sealed_content');
  const payloads = await trx('profile_payloads')
    .where({ profile_version_id: id })
    .orderBy('position')
    .select<{ sealed_content: Buffer }[]>('sealed_content');
  return {
    content: row.sealed_content,
    payloads: payloads.map(({ sealed_content }) => sealed_content),
  };
}

/** Those of the names that a profile secret has. */
export async function listSecretNames(
  trx: Knex.Transaction,
  names: readonly string[],
): Promise<Set<string>> {
  const rows = await trx('profile_secrets')
    .whereRaw('name = any(?::text[])', [[...names]])
    .select<{ name: string }[]>('name');
  return new Set(rows.map(({ name }) => name));
}
