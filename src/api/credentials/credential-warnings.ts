import { type BackupState, backupWarnings } from '../../backup/server/backup-warnings.js';
import { type Config, isLoopback } from '../../config/config.js';
import type { BlockedTopic } from '../../db/admin/metrics-repository.js';
import type { HaltedRollout, Pause, PausedProfile } from '../../db/assignments/item-repository.js';
import type { DuplicateAccounts, FailingAccount } from '../../db/dep/dep-account-health.js';
import type { EndingIdentities } from '../../db/pki/credential-repository.js';
import type { ProcessWithPushFailure } from '../../db/processes/process-repository.js';
import { COUNTED_AT_MOST, type TopicCount } from '../../db/push/device-reach.js';
import {
  type Advice,
  credentialAdvice,
  pushCertificateAdvice,
} from '../../pki/credentials/credential-advice.js';
import { type Credential, EXPIRING_DAYS } from '../../pki/credentials/credential-status.js';
import { PLACEHOLDER_TOPIC } from '../../pki/push-certificates/push-topic.js';
import type { TlsCaveat } from '../../pki/tls/tls-caveats.js';
import { depAccountWarning, duplicateAccountWarning } from './dep-account-warnings.js';

export type CredentialWarning = Advice;

export interface CredentialFacts {
  credentials: Credential[];
  /** Enrolled devices of topics without a usable push certificate. */
  unreachable: TopicCount[];
  /** Enrolled devices whose push token was refused. */
  refused: number;
  /** Enrollments of enrolled devices that wait for an admin. */
  held: number;
  blocked: BlockedTopic[];
  /** With which devices enroll now. */
  enrollmentTopic: string | undefined;
  /** Processes that cannot push, the earliest first. */
  pushFailures: ProcessWithPushFailure[];
  config: Pick<Config, 'enrollment' | 'replaceEnrolled' | 'publicUrl' | 'lab' | 'apnsHost'>;
  /** Caveats of the process that answers. */
  tlsCaveats: readonly TlsCaveat[];
  /** DEP accounts whose syncs fail or are overdue. */
  failingAccounts: FailingAccount[];
  duplicateAccounts: DuplicateAccounts[];
  /** What keeps assignments from being carried out. */
  reconciler: Pause;
  /** Some of the profiles that are paused, or that devices keep that should lose them. */
  pausedProfiles: PausedProfile[];
  haltedRollouts: HaltedRollout[];
  /** Identities of enrolled devices that expire soon and are not being renewed. */
  identities: EndingIdentities;
  backups: BackupState;
}

/** Topics whose push certificate can be used now. */
export function usableTopics(credentials: Credential[]): string[] {
  return credentials.flatMap(({ kind, status, topic }) =>
    kind === 'push_certificate' && topic !== undefined && isUsable(status) ? [topic] : [],
  );
}

function isUsable(status: Credential['status']): boolean {
  return status === 'ok' || status === 'expiring';
}

/** Everything that keeps devices from being reached, now or soon, or admits the wrong ones. */
export function credentialWarnings(facts: CredentialFacts): CredentialWarning[] {
  return [
    ...pushCertificateWarnings(facts),
    ...pushFailureWarnings(facts),
    ...facts.credentials.flatMap((credential) => lifeWarning(credential, facts)),
    ...facts.failingAccounts.map(depAccountWarning),
    ...facts.duplicateAccounts.map(duplicateAccountWarning),
    ...facts.blocked.map(blockedWarning),
    ...refusedWarning(facts),
    ...heldWarning(facts),
    ...settingWarnings(facts),
    ...facts.tlsCaveats,
    ...identityWarning(facts),
    ...pauseWarnings(facts),
    ...facts.haltedRollouts.map(haltedWarning),
    ...backupWarnings(facts.backups),
  ];
}

function pushCertificateWarnings(facts: CredentialFacts): CredentialWarning[] {
  const { credentials, unreachable, enrollmentTopic } = facts;
  const topics = usableTopics(credentials);
  const warnings: CredentialWarning[] = [];
  if (topics.length === 0) {
    const detail =
      'There is no usable push certificate: commands are queued, but no device is notified of them. ' +
      'POST one with its private key to /api/v1/push_certificates.';
    warnings.push({ code: 'no_push_certificate', detail });
  }
  if (topics.length > 1 && enrollmentTopic !== undefined) {
    const detail =
      `There are push certificates of ${topics.length} topics (${topics.join(', ')}). New devices ` +
      `enroll with ${enrollmentTopic}, whose certificate was added last; each must be renewed as ` +
      'long as devices of its topic are enrolled.';
    warnings.push({ code: 'several_push_topics', detail });
  }
  // The lab issues its own.
  const advice = facts.config.lab ? [] : credentials.flatMap(pushCertificateAdvice);
  return [
    ...warnings,
    ...advice,
    ...unreachable.map((topic) => unreachableWarning(topic, credentials)),
  ];
}

function unreachableWarning(
  { topic, count }: TopicCount,
  credentials: Credential[],
): CredentialWarning {
  const topics = credentials.flatMap((credential) => credential.topic ?? []);
  if (topics.length > 0 && !topics.includes(topic)) return mismatchWarning({ topic, count });
  const detail =
    `${many(count)} of the topic ${topic} cannot be notified of their commands: no usable push ` +
    'certificate has that topic. POST it to /api/v1/push_certificates, or enroll the devices anew.';
  return { code: 'devices_without_push_certificate', detail };
}

/** No certificate can exist for the placeholder; one of another topic may be stored elsewhere. */
function mismatchWarning({ topic, count }: TopicCount): CredentialWarning {
  const isPlaceholder = topic === PLACEHOLDER_TOPIC;
  const cause = isPlaceholder
    ? `${many(count)} enrolled before there was a push certificate, with the topic ${topic}`
    : `${many(count)} enrolled with the push topic ${topic}, of which there is no certificate here`;
  const cure = isPlaceholder
    ? 'Enroll them again'
    : 'POST the certificate of that topic to /api/v1/push_certificates, or enroll them again';
  const detail =
    `${cause}: they can't be pushed (push_state topic_mismatch), and get their commands only when ` +
    'they check in by themselves. A device keeps the topic that it enrolled with: Apple refuses a ' +
    `profile, and so a renewal, that changes it. ${cure} (docs/enrollment.md, "Enroll devices ` +
    'again for another push topic"). Find them by ' +
    '/api/v1/devices?filter[push_state]=topic_mismatch.';
  return { code: 'topic_mismatch', detail };
}

/** One for each reason. */
function pushFailureWarnings({ pushFailures, config }: CredentialFacts): CredentialWarning[] {
  const reasons = new Set(pushFailures.map(({ why }) => why));
  return [...reasons].map((reason) => {
    const members = pushFailures.filter(({ why }) => why === reason);
    return { code: 'push_service_unreachable', detail: pushFailureDetail(reason, members, config) };
  });
}

function pushFailureDetail(
  why: string,
  members: ProcessWithPushFailure[],
  { lab, apnsHost }: CredentialFacts['config'],
): string {
  const host = lab ? "The lab's stand-in for Apple's push service" : apnsHost;
  const places = members.map(({ hostname, pid }) => `${hostname} (process ${pid})`).join(', ');
  const since = members[0]?.since.toISOString();
  return (
    `${host} cannot be reached from ${places} since ${since}: ${why}. Commands wait, and their ` +
    'devices are pushed once it can be. Check there that APNS_HOST is meant, that its name ' +
    'resolves, and that no firewall or proxy keeps HTTP/2 over TLS from it; POST ' +
    '/api/v1/devices/{id}/push tries it from the process that answers.'
  );
}

function lifeWarning(credential: Credential, { credentials }: CredentialFacts) {
  const { kind, status } = credential;
  const detail = credentialAdvice(credential, credentials);
  if (detail === undefined) return [];
  const isKeyless = status === 'no_private_key';
  return [{ code: isKeyless ? 'push_certificate_without_key' : `${kind}_${status}`, detail }];
}

function blockedWarning({ topic, reason, blockedAt, retryAt }: BlockedTopic): CredentialWarning {
  const detail =
    `Apple's push service refuses the certificate of ${topic} since ${blockedAt.toISOString()}: ` +
    `${reason}. Its devices are not pushed; the next attempt is at ${retryAt.toISOString()}, or at ` +
    'once when its successor is POSTed to /api/v1/push_certificates.';
  return { code: 'push_topic_blocked', detail };
}

function refusedWarning({ refused }: CredentialFacts): CredentialWarning[] {
  if (refused === 0) return [];
  const detail =
    `Apple's push service no longer knows the push token of ${many(refused)}. Each is pushed again ` +
    'once it checks in; find them by /api/v1/devices?filter[push_state]=unregistered (or bad_token).';
  return [{ code: 'devices_not_pushable', detail }];
}

function heldWarning({ held }: CredentialFacts): CredentialWarning[] {
  if (held === 0) return [];
  const count = held > COUNTED_AT_MOST ? `More than ${COUNTED_AT_MOST}` : String(held);
  const waiting =
    held === 1 ? 'enrollment of an enrolled device waits' : 'enrollments of enrolled devices wait';
  const detail =
    `${count} ${waiting} for an admin ` +
    '(REPLACE_ENROLLED=hold). Read /api/v1/enrollment_requests?sort=-held_at, and approve those ' +
    'that are expected: POST /api/v1/enrollment_requests/{id}/approve. Others expire by themselves.';
  return [{ code: 'enrollments_held', detail }];
}

function many(count: number): string {
  if (count > COUNTED_AT_MOST) return `more than ${COUNTED_AT_MOST} enrolled devices`;
  return count === 1 ? '1 enrolled device' : `${count} enrolled devices`;
}

function identityWarning({ identities: { count, first } }: CredentialFacts): CredentialWarning[] {
  if (count === 0) return [];
  const detail =
    `The identities of ${many(count)} end within ${EXPIRING_DAYS} days, the first on ` +
    `${first?.toISOString().slice(0, 10)}, and are not being renewed: a CA elsewhere issued them, ` +
    'or the renewal fails. Once they have ended, and IDENTITY_GRACE is over, the devices must be ' +
    'enrolled anew. POST /api/v1/devices/{id}/renew_identity begins a renewal.';
  return [{ code: 'identities_expiring', detail }];
}

function pauseWarnings({ reconciler, pausedProfiles }: CredentialFacts): CredentialWarning[] {
  const { paused_at: since, pause_reason: reason } = reconciler;
  const ofProfiles = pausedProfiles.flatMap(profileWarnings);
  if (since === null) return ofProfiles;
  const detail =
    `Assignments are paused since ${since.toISOString()}: ${reason}. No device gets or loses what ` +
    'is assigned. See what would change (POST /api/v1/assignments/preview), then POST ' +
    '/api/v1/reconciler/resume.';
  return [{ code: 'assignments_paused', detail }, ...ofProfiles];
}

function profileWarnings({ id, ...pause }: PausedProfile): CredentialWarning[] {
  const { paused_at: pausedAt, removals_paused_at: heldAt } = pause;
  const warnings: CredentialWarning[] = [];
  if (pausedAt !== null) {
    const detail =
      `The assignments of profile ${id} are paused since ${pausedAt.toISOString()}: ` +
      `${pause.pause_reason}. POST /api/v1/profiles/${id}/resume goes on.`;
    warnings.push({ code: 'profile_paused', detail });
  }
  if (heldAt !== null) {
    const detail =
      `Many devices were about to lose profile ${id} at ${heldAt.toISOString()} because of smart ` +
      'groups; they keep it. Correct the rule if they should. Then POST ' +
      `/api/v1/profiles/${id}/resume: it removes the profile from the others. /api/v1/profiles/${id}/devices?filter[reason_code]=mass_removal ` +
      'lists them.';
    warnings.push({ code: 'mass_removal', detail });
  }
  return warnings;
}

function haltedWarning({ id, profile_id, version, reason }: HaltedRollout): CredentialWarning {
  const detail =
    `The rollout ${id} of version ${version} of profile ${profile_id} has halted: ${String(reason).replace(/\.$/, '')}. POST ` +
    `/api/v1/rollouts/${id}/resume goes on, /api/v1/rollouts/${id}/rollback brings the former version back.`;
  return { code: 'rollout_halted', detail };
}

function settingWarnings({ config }: CredentialFacts): CredentialWarning[] {
  const warnings: CredentialWarning[] = [];
  if (config.enrollment === 'open' && !isLoopback(new URL(config.publicUrl).hostname)) {
    const detail =
      'ENROLLMENT=open: anyone who reaches this server can enroll a device. Set link, and hand ' +
      'out the links of /api/v1/enrollment_links, or closed.';
    const takeover =
      ' Such a device can also name the UDID of an enrolled one and replace it; set ' +
      'REPLACE_ENROLLED=hold to approve that first.';
    const isHolding = config.replaceEnrolled === 'hold';
    warnings.push({ code: 'enrollment_open', detail: isHolding ? detail : detail + takeover });
  }
  if (config.lab) {
    const detail =
      "LAB=on: pushes go to a stand-in, not to Apple, and the lab's devices are trusted. Only for " +
      'trying out.';
    warnings.push({ code: 'lab_on', detail });
  }
  return warnings;
}
