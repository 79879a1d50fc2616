import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
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

/** A credential counts as expiring this early, since a renewal needs people. */
export const EXPIRING_DAYS = 30;

export const CREDENTIAL_KINDS = [
  'push_certificate',
  'certificate_authority',
  'ssl_certificate',
  'dep_token',
  'vendor_certificate',
  'encryption_certificate',
  'dep_server_certificate',
  'dep_anchor_certificate',
  'supervision_certificate',
] as const;

export type CredentialKind = (typeof CREDENTIAL_KINDS)[number];

export const CREDENTIAL_STATES = [
  'ok',
  'expiring',
  'expired',
  'not_yet_valid',
  'no_private_key',
] as const;

/** A certificate or token of the server, which expires. */
export interface Credential {
  kind: CredentialKind;
  source: 'database' | 'file';
  /** Id of the certificate or DEP account; null for a file. */
  id: number | null;
  name: string;
  not_after: Date;
  /** Whole days left; negative once it has expired. */
  days_left: number;
  /** `no_private_key`: a push certificate that can't be used, whatever its dates. */
  status: (typeof CREDENTIAL_STATES)[number];
  /** Only with `not_yet_valid`. */
  not_before?: Date;
  /** Push certificates only. */
  topic?: string | undefined;
  /** Push certificates only: the Apple Account that can renew it, if known. */
  apple_account?: string | undefined;
  /** Push certificates in use only. */
  isSelfSigned?: boolean | undefined;
  /** Push certificates in use only: a usable one that it replaced and that ends later. */
  replaced?: { id: number; not_after: Date } | undefined;
  /** CAs only: it issues identities now, did so before, or was made elsewhere. */
  authority?: 'issuing' | 'retired' | 'external';
  /**
   * CAs that no longer issue, if counted: identities of enrolled devices, up to COUNTED_AT_MOST +
   * 1.
   */
  identities?: number;
}

/** The fields of the certificate of TLS_CERT_FILE that matter here. */
export type FileCertificate = Pick<
  ParsedCertificate,
  'commonName' | 'subject' | 'notBefore' | 'notAfter'
>;

export interface CredentialOptions {
  now?: Date;
  /** The certificate of TLS_CERT_FILE, which is used instead of stored ones. */
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

/** The server cannot use these without their private key. */
const USELESS_WITHOUT_KEY: CertificatePurpose[] = ['mdm.vendor', 'mdm.encrypt', 'dep.stoken'];

/** The private keys of these are kept elsewhere, so they are distinguished by subject. */
const BY_SUBJECT: CertificatePurpose[] = ['dep.anchor', 'dep.supervision'];

type Life = Pick<Credential, 'not_after' | 'days_left' | 'status' | 'not_before'>;

/**
 * The credentials in use, and push certificates that wait for their key; the first to end first.
 */
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

/** As credentialStatus, with the number of dependent devices for CAs that do not issue now. */
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

/** One certificate for each slot: the usable one that was added last, if any. */
function inUse(rows: ServerCertificateRow[], now: Date): ServerCertificateRow[] {
  const chosen = new Map<string, ServerCertificateRow>();
  for (const row of rows) {
    const other = chosen.get(slotOf(row));
    const isBetter = other === undefined || uselessness(row, now) < uselessness(other, now);
    if (isBetter) chosen.set(slotOf(row), row);
  }
  return [...chosen.values()];
}

/** Certificates with the same slot replace each other; CAs and token certificates have one each. */
function slotOf({ id, purpose, push_topic, subject }: ServerCertificateRow): string {
  if (purpose === 'mdm.pushcert') return `topic ${push_topic}`;
  if (purpose === 'mdm.cacert' || purpose === 'dep.stoken') return `certificate ${id}`;
  return BY_SUBJECT.includes(purpose) ? `${purpose} ${subject}` : purpose;
}

/** 0: usable now; 1: not yet or no longer valid; 2: its key is missing. */
function uselessness(row: ServerCertificateRow, now: Date): number {
  const { purpose, has_key, not_before, not_after } = row;
  if (!has_key && !BY_SUBJECT.includes(purpose)) return 2;
  return not_before <= now && not_after > now ? 0 : 1;
}

/** Push certificates newer than the one in use that would replace it if their keys were stored. */
function waitingForKey(
  rows: ServerCertificateRow[],
  used: ServerCertificateRow[],
  now: Date,
): ServerCertificateRow[] {
  return rows.filter((row) => {
    if (row.purpose !== 'mdm.pushcert' || row.has_key || row.not_after <= now) return false;
    return used.some((other) => slotOf(other) === slotOf(row) && other.id < row.id);
  });
}

function ofCertificate(row: ServerCertificateRow, now: Date): Credential[] {
  const kind = KINDS[row.purpose];
  if (kind === undefined) return [];
  const credential: Credential = {
    kind,
    source: 'database',
    id: row.id,
    name: row.x509_cn ?? row.subject,
    ...lifeBetween([row.not_before, row.not_after], now),
    topic: row.push_topic ?? undefined,
    apple_account: row.apple_account ?? undefined,
    ...authorityOf(row),
  };
  const isUseless = kind === 'push_certificate' && !row.has_key;
  return [isUseless ? { ...credential, status: 'no_private_key' } : credential];
}

function lifeBetween([notBefore, notAfter]: [Date, Date], now: Date): Life {
  const life = lifeOf(notAfter, now);
  if (notBefore <= now || life.status === 'expired') return life;
  return { ...life, status: 'not_yet_valid', not_before: notBefore };
}

function lifeOf(notAfter: Date, now: Date): Life {
  const left = notAfter.getTime() - now.getTime();
  const life = { not_after: notAfter, days_left: Math.floor(left / DAY_MS) };
  if (left <= 0) return { ...life, status: 'expired' };
  return { ...life, status: left <= EXPIRING_DAYS * DAY_MS ? 'expiring' : 'ok' };
}

function authorityOf(row: ServerCertificateRow): Pick<Credential, 'authority'> {
  if (row.purpose !== 'mdm.cacert') return {};
  if (row.issues_identities) return { authority: 'issuing' };
  return { authority: row.is_own_ca ? 'retired' : 'external' };
}

/** Oddities of a usable push certificate. */
function pushOddities(
  row: ServerCertificateRow,
  rows: ServerCertificateRow[],
  now: Date,
): Pick<Credential, 'isSelfSigned' | 'replaced'> {
  if (row.purpose !== 'mdm.pushcert' || uselessness(row, now) > 0) return {};
  const [replaced] = rows
    .filter((other) => slotOf(other) === slotOf(row) && uselessness(other, now) === 0)
    .filter(({ not_after }) => not_after.getTime() >= row.not_after.getTime() + DAY_MS)
    .sort((one, other) => other.not_after.getTime() - one.not_after.getTime());
  return {
    isSelfSigned: row.issuer === row.subject ? true : undefined,
    replaced: replaced && { id: replaced.id, not_after: replaced.not_after },
  };
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
