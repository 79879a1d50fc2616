import type { SecretBox } from '../crypto/secrets/secret-box.js';
import {
  type OrganizationRow,
  readOrganization,
  readPushTopic,
  readScepConfiguration,
  type ScepConfigurationRow,
} from '../db/admin/settings-repository.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { hasTokenAccount } from '../db/enroll/token-account-repository.js';
import { AppError } from '../errors.js';
import type {
  ChallengeOptions,
  EnrollmentChallenges,
} from '../pki/authority/enrollment-challenge.js';
import { type IdentityNameSettings, subjectTemplate } from '../pki/authority/identity-name.js';
import { PLACEHOLDER_TOPIC } from '../pki/push-certificates/push-topic.js';
import { chooseCell, withCell } from '../protocol/mdm/cell-label.js';
import {
  buildEnrollmentProfile,
  type ScepPayload,
  type ScepSubject,
} from '../protocol/profiles/mobileconfig.js';

export interface EnrollmentProfileDeps {
  db: Database;
  box: SecretBox;
  challenges: EnrollmentChallenges;
  publicUrl: string;
  /** DER of the CAs that issue device identities and sign for this server. */
  caCertificates: () => Buffer[];
}

/** The settings that enrollment profiles depend on. */
export interface EnrollmentSettings {
  organization: OrganizationRow;
  scep: ScepConfigurationRow;
  /** APNs topic of the current push certificate. */
  topic: string;
  /** Whether devices may use GetToken. */
  answersGetToken: boolean;
}

/** Reads one after the other, since `knex` may be a transaction. */
export async function readEnrollmentSettings(knex: Database['knex']): Promise<EnrollmentSettings> {
  try {
    const organization = await readOrganization(knex);
    const scep = await readScepConfiguration(knex);
    const topic = (await readPushTopic(knex)) ?? PLACEHOLDER_TOPIC;
    const answersGetToken = await hasTokenAccount(knex);
    return { organization, scep, topic, answersGetToken };
  } catch (error) {
    throw toAppError(error);
  }
}

/** The account of account-driven enrollment. */
export interface EnrollingAccount {
  /** BYOD: a person's own device; ADDE: one of the organization. */
  mode: 'BYOD' | 'ADDE';
  managedAppleAccount: string;
}

/** The device that the profile is for. */
export interface EnrollmentFor {
  /** Options of the challenge of our own CA. */
  challenge?: ChallengeOptions;
  account?: EnrollingAccount | undefined;
  /** If known; the cell label follows from it. */
  serial?: string | undefined;
  /** The device's own label on renewal: Apple refuses another ServerURL. */
  cell?: number | null;
}

/** The enrollment profile of a device, with a challenge of its own; nothing is stored. */
export async function createEnrollmentProfile(
  deps: EnrollmentProfileDeps,
  enrollment: EnrollmentFor = {},
): Promise<Buffer> {
  return enrollmentProfile(await readEnrollmentSettings(deps.db.knex), deps, enrollment);
}

/** Like createEnrollmentProfile, with settings already read. */
export function enrollmentProfile(
  settings: EnrollmentSettings,
  deps: EnrollmentProfileDeps,
  { challenge: options, account, serial, cell = chooseCell(serial) }: EnrollmentFor = {},
): Buffer {
  const { organization, topic, answersGetToken } = settings;
  return buildEnrollmentProfile({
    organization,
    caCertificates: deps.caCertificates(),
    scep: identityRequest(settings, deps, options),
    mdm: {
      serverUrl: withCell(`${deps.publicUrl}/mdm`, cell),
      topic,
      answersGetToken,
      account,
    },
  });
}

/** The SCEP payload of a device, with a challenge of its own. */
export function identityRequest(
  { organization, scep }: Pick<EnrollmentSettings, 'organization' | 'scep'>,
  deps: EnrollmentProfileDeps,
  options?: ChallengeOptions,
): ScepPayload {
  const challenge = challengeOf(scep, deps, options);
  return { ...scepPayload(scep, organization, deps.publicUrl), challenge };
}

function scepPayload(scep: ScepConfigurationRow, organization: OrganizationRow, publicUrl: string) {
  return {
    url: scep.url ?? `${publicUrl}/scep`,
    name: organization.name,
    subject: subjectOf({ organization, scep }),
    keySize: scep.key_size,
    keyUsage: scep.key_usage,
    retries: scep.retries,
    retryDelay: scep.retry_delay,
    caFingerprint: fingerprintOf(scep),
    subjectAltName: scep.subject_alt_name ?? undefined,
  };
}

/** The internal CA always requires a challenge made for this profile. */
function challengeOf(
  scep: ScepConfigurationRow,
  { box, challenges }: EnrollmentProfileDeps,
  options: ChallengeOptions | undefined,
): string | undefined {
  if (scep.source_type === 'InternalPKCS12') {
    throw new AppError('unavailable', 503, 'identities as PKCS#12 are not offered');
  }
  if (scep.source_type === 'InternalSCEP') return challenges.issueChallenge(options);
  if (!scep.challenge_enabled || scep.sealed_challenge === null) return undefined;
  return box.open(scep.sealed_challenge, 'scep_configurations/challenge').toString('utf8');
}

/** In Apple's form: an array of arrays of pairs. */
function subjectOf(settings: IdentityNameSettings): ScepSubject {
  return subjectTemplate(settings).map(({ type, value }) => [[type, value]]);
}

/** Only for the external CA: our CA's fingerprint would make devices refuse our CA. */
function fingerprintOf({ source_type, ca_fingerprint }: ScepConfigurationRow): Buffer | undefined {
  if (source_type !== 'ExternalSCEP' || ca_fingerprint === null) return undefined;
  return Buffer.from(ca_fingerprint.replace(/[^0-9a-f]/gi, ''), 'hex');
}
