import type { CertificatePurpose } from '../db/certificate-repository.js';
import {
  listProgramTokens,
  listServerCertificates,
  type ProgramTokenRow,
  type ServerCertificateRow,
} from '../db/credential-repository.js';
import type { Database } from '../db/database.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Renewing takes people, so they hear of it this early. */
export const EXPIRING_DAYS = 30;

export type CredentialKind =
  | 'push_certificate'
  | 'certificate_authority'
  | 'ssl_certificate'
  | 'dep_token';

/** Something that the server works by and that ends by itself. */
export interface Credential {
  kind: CredentialKind;
  /** Of the certificate, or of the account of Apple's enrollment program. */
  id: number;
  name: string;
  not_after: Date;
  /** Whole days that are left; negative once it has expired. */
  days_left: number;
  /** `no_private_key`: a push certificate that is of no use, whatever its dates. */
  status: 'ok' | 'expiring' | 'expired' | 'no_private_key';
  /** Of push certificates only. */
  topic?: string;
}

const KINDS: Partial<Record<CertificatePurpose, CredentialKind>> = {
  'mdm.pushcert': 'push_certificate',
  'mdm.cacert': 'certificate_authority',
  'mdm.webcrt': 'ssl_certificate',
};

/** Certificates that replace each other; every CA counts by itself, devices depend on each. */
function placeOf(row: ServerCertificateRow): string {
  if (row.purpose === 'mdm.pushcert') return `topic ${row.push_topic}`;
  if (row.purpose === 'mdm.webcrt') return `name ${row.x509_cn ?? row.subject}`;
  return `authority ${row.id}`;
}

/** 0: can be used now; 1: not yet, or no longer; 2: not without its key. */
function uselessness({ has_key, not_before, not_after }: ServerCertificateRow, now: Date): number {
  if (!has_key) return 2;
  return not_before <= now && not_after > now ? 0 : 1;
}

/** One in each place: of those that can be used now, if any, the one added last. */
function inUse(rows: ServerCertificateRow[], now: Date): ServerCertificateRow[] {
  const chosen = new Map<string, ServerCertificateRow>();
  for (const row of rows) {
    const other = chosen.get(placeOf(row));
    const isBetter = other === undefined || uselessness(row, now) < uselessness(other, now);
    if (isBetter) chosen.set(placeOf(row), row);
  }
  return [...chosen.values()];
}

/** Push certificates added after the one in use, which they would replace if their keys were here. */
function waitingForKey(
  rows: ServerCertificateRow[],
  used: ServerCertificateRow[],
  now: Date,
): ServerCertificateRow[] {
  return rows.filter((row) => {
    if (row.purpose !== 'mdm.pushcert' || row.has_key || row.not_after <= now) return false;
    return used.some((other) => placeOf(other) === placeOf(row) && other.id < row.id);
  });
}

function lifeOf(notAfter: Date, now: Date): Pick<Credential, 'not_after' | 'days_left' | 'status'> {
  const left = notAfter.getTime() - now.getTime();
  const life = { not_after: notAfter, days_left: Math.floor(left / DAY_MS) };
  if (left <= 0) return { ...life, status: 'expired' };
  return { ...life, status: left <= EXPIRING_DAYS * DAY_MS ? 'expiring' : 'ok' };
}

function ofCertificate(row: ServerCertificateRow, now: Date): Credential[] {
  const kind = KINDS[row.purpose];
  if (kind === undefined) return [];
  const credential: Credential = {
    ...{ kind, id: row.id, name: row.x509_cn ?? row.subject },
    ...lifeOf(row.not_after, now),
    ...(row.push_topic === null ? {} : { topic: row.push_topic }),
  };
  const isUseless = kind === 'push_certificate' && !row.has_key;
  return [isUseless ? { ...credential, status: 'no_private_key' } : credential];
}

function ofToken(row: ProgramTokenRow, now: Date): Credential {
  const name = row.name ?? `account ${row.id}`;
  return { kind: 'dep_token', id: row.id, name, ...lifeOf(row.access_token_expiry, now) };
}

/** All that the server works by, or soon should, and that ends by itself; the first to end first. */
export async function credentialStatus(
  knex: Database['knex'],
  now: Date = new Date(),
): Promise<Credential[]> {
  const certificates = await listServerCertificates(knex);
  const used = inUse(certificates, now);
  const shown = [...used, ...waitingForKey(certificates, used, now)];
  const tokens = await listProgramTokens(knex);
  return [
    ...shown.flatMap((row) => ofCertificate(row, now)),
    ...tokens.map((row) => ofToken(row, now)),
  ].sort((one, other) => one.not_after.getTime() - other.not_after.getTime() || one.id - other.id);
}
