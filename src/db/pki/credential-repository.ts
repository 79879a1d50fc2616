import type { Knex } from 'knex';
import type { CertificatePurpose } from './certificate-repository.js';

/** A certificate of the server itself: TLS, CA, push and others, but never a device's. */
export interface ServerCertificateRow {
  id: number;
  purpose: CertificatePurpose;
  subject: string;
  issuer: string;
  x509_cn: string | null;
  push_topic: string | null;
  not_before: Date;
  not_after: Date;
  has_key: boolean;
  /** CAs only: made here; and the one that issues identities now. */
  is_own_ca: boolean;
  issues_identities: boolean;
  /** Push certificates only: the Apple Account that can renew it. */
  apple_account: string | null;
}

export interface DepTokenRow {
  id: number;
  name: string | null;
  access_token_expiry: Date;
}

const SERVER_PURPOSES: CertificatePurpose[] = [
  'mdm.pushcert',
  'mdm.cacert',
  'mdm.webcrt',
  'mdm.vendor',
  'mdm.encrypt',
  'dep.stoken',
  'dep.anchor',
  'dep.supervision',
];

/** A certificate for server tokens is in use once an account has a token encrypted to it. */
const IN_USE = `purpose <> 'dep.stoken' or exists (
  select from dep_accounts a where a.token_certificate_id = certificates.id)`;

/** The server's certificates that are not revoked, the last added first. */
export async function listServerCertificates(knex: Knex): Promise<ServerCertificateRow[]> {
  return await knex('certificates')
    .whereIn('purpose', SERVER_PURPOSES)
    .whereNull('revoked_at')
    .whereRaw(`(${IN_USE})`)
    .orderBy('id', 'desc')
    .select<ServerCertificateRow[]>(
      'id',
      'purpose',
      'subject',
      'issuer',
      'x509_cn',
      'push_topic',
      'not_before',
      'not_after',
      'is_own_ca',
      'issues_identities',
      'apple_account',
      knex.raw('rsa_private_key_id is not null as has_key'),
    );
}

/** The DEP tokens with a known end, except those of the lab while it is off. */
export async function listDepTokens(knex: Knex): Promise<DepTokenRow[]> {
  return await knex('dep_accounts')
    .whereNotNull('access_token_expiry')
    .whereNot({ status: 'lab_off' })
    .orderBy('id')
    .select<DepTokenRow[]>(
      'id',
      'access_token_expiry',
      knex.raw('coalesce(server_name, org_name) as name'),
    );
}

/**
 * One statement for each CA, so that PostgreSQL plans by the CA's number of identities: a CA with few or none
 * uses the index. Devices are looked up one by one up to the limit; a join would read all of them first.
 */
const IDENTITIES_OF = `
select ?::bigint as id, count(*) from (
  select from device_identities i cross join lateral (
    select from devices d where d.id = i.device_id
      and d.enrollment_state in ('authenticated', 'enrolled')
    limit 1
  ) enrolled
  where i.issuer = ?::bytea and i.state in ('active', 'renewal')
  limit ?
) counted`;

/** How many identities of enrolled devices each of these CAs has issued, counted up to `most`. */
export async function countIdentitiesOf(
  knex: Knex,
  authorityIds: number[],
  most: number,
): Promise<Map<number, number>> {
  const authorities = await knex('certificates')
    .whereIn('id', authorityIds)
    .select<{ id: number; fingerprint: Buffer }[]>('id', 'fingerprint');
  if (authorities.length === 0) return new Map();
  const { rows } = await knex.raw<{ rows: { id: number; count: number }[] }>(
    authorities.map(() => `(${IDENTITIES_OF})`).join('\nunion all\n'),
    authorities.flatMap(({ id, fingerprint }) => [id, fingerprint, most]),
  );
  return new Map(rows.map(({ id, count }) => [id, count]));
}

export interface EndingIdentities {
  count: number;
  /** When the first of them ends; null without any. */
  first: Date | null;
}

// Identities of an external CA have no renew_at.
const ENDING_IDENTITIES = `
select count(*) as count, min(not_after) as first
from (
  select i.not_after
  from device_identities i
  join devices d on d.id = i.device_id
  left join identity_renewals r on r.device_id = i.device_id
  where i.state = 'active' and (i.renew_at <= now() or i.renew_at is null)
    and i.not_after < now() + ? * interval '1 day' and d.is_enrolled
    and (r.device_id is null or r.problem is not null)
  limit ?
) ending`;

/**
 * Identities of enrolled devices that end within `days` and are not being renewed; up to `most`.
 */
export async function countEndingIdentities(
  knex: Knex,
  { days, most }: { days: number; most: number },
): Promise<EndingIdentities> {
  const { rows } = await knex.raw<{ rows: EndingIdentities[] }>(ENDING_IDENTITIES, [days, most]);
  return rows[0] ?? { count: 0, first: null };
}

/** A notice that a credential has this many days left, or less. */
export interface NoticeKey {
  kind: string;
  /** 0 for a credential that is not in the database. */
  credential_id: number;
  not_after: Date;
  /** 0: it has ended. */
  days: number;
}

// No notice follows one of fewer days, as when the clocks of several processes differ.
const INSERT = `
insert into credential_notices (kind, credential_id, not_after, days)
select q.* from unnest(:kinds::text[], :ids::bigint[], :times::timestamptz[], :days::integer[])
  as q (kind, credential_id, not_after, days)
where not exists (
  select from credential_notices n
  where n.kind = q.kind and n.credential_id = q.credential_id and n.not_after = q.not_after
    and n.days <= q.days
)
on conflict do nothing
returning kind, credential_id, not_after, days`;

/** Inserts notices. Returns the new ones, which only this process may report. */
export async function insertNotices(
  trx: Knex.Transaction,
  notices: readonly NoticeKey[],
): Promise<NoticeKey[]> {
  if (notices.length === 0) return [];
  const { rows } = await trx.raw<{ rows: NoticeKey[] }>(INSERT, {
    kinds: notices.map(({ kind }) => kind),
    ids: notices.map(({ credential_id }) => credential_id),
    times: notices.map(({ not_after }) => not_after),
    days: notices.map(({ days }) => days),
  });
  return rows;
}
