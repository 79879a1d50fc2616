import type { Database } from '../../db/connection/database.js';
import type { CertificatePurpose } from '../../db/pki/certificate-repository.js';
import {
  countIdentitiesOf,
  type DepTokenRow,
  listDepTokens,
  listServerCertificates,
  type ServerCertificateRow,
} from '../../db/pki/credential-repository.js';
import { COUNTED_AT_MOST } from '../../db/push/device-reach.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Renewing takes people, so they hear of it this early. */
export const EXPIRING_DAYS = 30;

export const CREDENTIAL_KINDS = [
  ...(['push_certificate', 'certificate_authority', 'ssl_certificate', 'dep_token'] as const),
  ...(['vendor_certificate', 'encryption_certificate', 'dep_server_certificate'] as const),
  ...(['dep_anchor_certificate', 'supervision_certificate'] as const),
];

export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export const CREDENTIAL_STATES = [
  ...(['ok', 'expiring', 'expired', 'not_yet_valid', 'no_private_key'] as const),
] as const;

/** Something that the server works by and that ends by itself. */
export interface Credential {
  kind: CredentialKind;
  source: 'database' | 'file';
  /** Of the certificate, or of the account of Apple's enrollment program; null of a file. */
  id: number | null;
  name: string;
  not_after: Date;
  /** Whole days that are left; negative once it has expired. */
  days_left: number;
  /** `no_private_key`: a push certificate that is of no use, whatever its dates. */
  status: (typeof CREDENTIAL_STATES)[number];
  /** Of those that are not valid yet. */
  not_before?: Date;
  /** Of push certificates only. */
  topic?: string;
  /** Of push certificates where it is known: who can renew it. */
  apple_account?: string;
  /** Of push certificates in use: it is signed by itself. */
  isSelfSigned?: boolean;
  /** Of push certificates in use: another that could be used too, was replaced, and ends later. */
  replaced?: { id: number; not_after: Date };
  /** Of CAs only: it issues identities now, did so before, or was made elsewhere. */
  authority?: 'issuing' | 'retired' | 'external';
  /** Of CAs that issue no more, where it was counted: identities of enrolled devices, so far at most. */
  identities?: number;
}

/** The certificate of TLS_CERT_FILE, as far as it matters here. */
export interface FileCertificate {
  commonName: string | undefined;
  subject: string;
  notBefore: Date;
  notAfter: Date;
}

export interface CredentialOptions {
  now?: Date;
  /** In whose place no stored one is used. */
  tlsFile?: FileCertificate | undefined;
}

const KINDS: Partial<Record<CertificatePurpose, CredentialKind>> = {
  'mdm.pushcert': 'push_certificate',
  'mdm.cacert': 'certificate_authority',
  'mdm.webcrt': 'ssl_certificate',
  'mdm.vendor': 'vendor_certificate',
  'mdm.encrypt': 'encryption_certificate',
  'dep.stoken': 'dep_server_certificate',
  'dep.anchor': 'dep_anchor_certificate',
  'dep.supervision': 'supervision_certificate',
};

/** Without its key the server can do nothing with it, and never could. */
const USELESS_WITHOUT_KEY: CertificatePurpose[] = ['mdm.vendor', 'mdm.encrypt', 'dep.stoken'];

/** Others hold these keys. */
const BY_SUBJECT: CertificatePurpose[] = ['dep.anchor', 'dep.supervision'];

/** Certificates that replace each other; those that devices or accounts depend on count each. */
function placeOf({ id, purpose, push_topic, subject }: ServerCertificateRow): string {
  if (purpose === 'mdm.pushcert') return `topic ${push_topic}`;
  if (purpose === 'mdm.cacert' || purpose === 'dep.stoken') return `certificate ${id}`;
  return BY_SUBJECT.includes(purpose) ? `${purpose} ${subject}` : purpose;
}

/** 0: can be used now; 1: not yet, or no longer; 2: not without its key. */
function uselessness(row: ServerCertificateRow, now: Date): number {
  const { purpose, has_key, not_before, not_after } = row;
  if (!has_key && !BY_SUBJECT.includes(purpose)) return 2;
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

/** What is odd about a push certificate that can be used. */
function pushOddities(
  row: ServerCertificateRow,
  rows: ServerCertificateRow[],
  now: Date,
): Pick<Credential, 'isSelfSigned' | 'replaced'> {
  if (row.purpose !== 'mdm.pushcert' || uselessness(row, now) > 0) return {};
  const [replaced] = rows
    .filter((other) => placeOf(other) === placeOf(row) && uselessness(other, now) === 0)
    .filter(({ not_after }) => not_after.getTime() >= row.not_after.getTime() + DAY_MS)
    .sort((one, other) => other.not_after.getTime() - one.not_after.getTime());
  return {
    ...(row.issuer === row.subject ? { isSelfSigned: true } : {}),
    ...(replaced ? { replaced: { id: replaced.id, not_after: replaced.not_after } } : {}),
  };
}

type Life = Pick<Credential, 'not_after' | 'days_left' | 'status' | 'not_before'>;

function lifeOf(notAfter: Date, now: Date): Life {
  const left = notAfter.getTime() - now.getTime();
  const life = { not_after: notAfter, days_left: Math.floor(left / DAY_MS) };
  if (left <= 0) return { ...life, status: 'expired' };
  return { ...life, status: left <= EXPIRING_DAYS * DAY_MS ? 'expiring' : 'ok' };
}

function lifeBetween([notBefore, notAfter]: [Date, Date], now: Date): Life {
  const life = lifeOf(notAfter, now);
  if (notBefore <= now || life.status === 'expired') return life;
  return { ...life, status: 'not_yet_valid', not_before: notBefore };
}

function authorityOf(row: ServerCertificateRow): Pick<Credential, 'authority'> {
  if (row.purpose !== 'mdm.cacert') return {};
  if (row.issues_identities) return { authority: 'issuing' };
  return { authority: row.is_own_ca ? 'retired' : 'external' };
}

function ofCertificate(row: ServerCertificateRow, now: Date): Credential[] {
  const kind = KINDS[row.purpose];
  if (kind === undefined) return [];
  const credential: Credential = {
    ...{ kind, source: 'database', id: row.id, name: row.x509_cn ?? row.subject },
    ...lifeBetween([row.not_before, row.not_after], now),
    ...(row.push_topic === null ? {} : { topic: row.push_topic }),
    ...(row.apple_account === null ? {} : { apple_account: row.apple_account }),
    ...authorityOf(row),
  };
  const isUseless = kind === 'push_certificate' && !row.has_key;
  return [isUseless ? { ...credential, status: 'no_private_key' } : credential];
}

function ofToken(row: DepTokenRow, now: Date): Credential {
  const name = row.name ?? `account ${row.id}`;
  const life = lifeOf(row.access_token_expiry, now);
  return { kind: 'dep_token', source: 'database', id: row.id, name, ...life };
}

function ofFile(file: FileCertificate, now: Date): Credential {
  const { commonName, subject, notBefore, notAfter } = file;
  const life = lifeBetween([notBefore, notAfter], now);
  return {
    kind: 'ssl_certificate',
    source: 'file',
    id: null,
    name: commonName ?? subject,
    ...life,
  };
}

/** All that the server works by, or soon should, and that ends by itself; the first to end first. */
export async function credentialStatus(
  knex: Database['knex'],
  { now = new Date(), tlsFile }: CredentialOptions = {},
): Promise<Credential[]> {
  const certificates = (await listServerCertificates(knex)).filter(
    ({ purpose, has_key }) =>
      (has_key || !USELESS_WITHOUT_KEY.includes(purpose)) &&
      (tlsFile === undefined || purpose !== 'mdm.webcrt'),
  );
  const used = inUse(certificates, now);
  const shown = [...used, ...waitingForKey(certificates, used, now)];
  const tokens = await listDepTokens(knex);
  return [
    ...shown.flatMap((row) =>
      ofCertificate(row, now).map((credential) => {
        return { ...credential, ...pushOddities(row, certificates, now) };
      }),
    ),
    ...tokens.map((row) => ofToken(row, now)),
    ...(tlsFile === undefined ? [] : [ofFile(tlsFile, now)]),
  ].sort(
    (one, other) =>
      one.not_after.getTime() - other.not_after.getTime() || (one.id ?? 0) - (other.id ?? 0),
  );
}

/** As credentialStatus; of CAs that do not issue now with how many devices depend on them. */
export async function credentialsInUse(
  knex: Database['knex'],
  options: CredentialOptions = {},
): Promise<Credential[]> {
  const credentials = await credentialStatus(knex, options);
  const former = credentials.filter(({ authority = 'issuing' }) => authority !== 'issuing');
  const ids = former.flatMap(({ id }) => id ?? []);
  const counts = await countIdentitiesOf(knex, ids, COUNTED_AT_MOST + 1);
  return credentials.map((credential) => {
    const identities = former.includes(credential) ? counts.get(credential.id ?? 0) : undefined;
    return identities === undefined ? credential : { ...credential, identities };
  });
}
