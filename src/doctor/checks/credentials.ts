import type { Advice } from '../../pki/credentials/credential-advice.js';
import type { Check } from '../check.js';
import { error, type FindingSeverity, type Found, ok, warning } from '../finding.js';

/** The warnings of /api/v1/credentials; without any, the credential that expires first. */
export const credentialsCheck: Check = {
  name: 'credentials',
  needs: 'schema',
  run: async ({ credentials: read }) => {
    const { credentials, warnings: all } = await read();
    // The backup check reports more about these.
    const warnings = all.filter(({ code }) => !code.startsWith('backup_'));
    if (warnings.length > 0) return warnings.map(findingOf);
    const [first] = credentials;
    const what =
      first === undefined
        ? 'No credential ends by itself.'
        : `All ${credentials.length} credentials are valid; the first to end is ${first.kind} ${JSON.stringify(first.name)}, in ${first.days_left} days.`;
    return [ok('credentials', what)];
  },
};

interface Rule {
  codes: RegExp;
  severity: Exclude<FindingSeverity, 'ok'>;
  why: string;
  cure: string;
}

const NOT_PUSHED =
  'Devices are not notified of their commands, and get them only when they poll by themselves.';
const NEW_PUSH_CERTIFICATE =
  'muster push-cert request --apple-account ACCOUNT, then muster push-cert import';
const REFUSED = 'Devices refuse this server, so that none enrolls or fetches commands.';

/** The first rule whose codes match says how bad a warning is. Its detail names the thing and the step. */
const RULES: Rule[] = [
  {
    codes: /^push_certificate_self_signed$/,
    severity: 'error',
    why: NOT_PUSHED,
    cure: NEW_PUSH_CERTIFICATE,
  },
  {
    codes: /^(no_push_certificate|push_certificate_(expired|without_key|not_yet_valid))$/,
    severity: 'error',
    why: NOT_PUSHED,
    cure: 'muster push-cert status, then muster push-cert request --apple-account ACCOUNT',
  },
  {
    codes: /^(topic_mismatch|devices_without_push_certificate)$/,
    severity: 'error',
    why: NOT_PUSHED,
    cure: "muster api GET '/devices?filter[push_state]=topic_mismatch', then enroll them again",
  },
  {
    codes: /^(push_topic_blocked|push_service_unreachable)$/,
    severity: 'error',
    why: NOT_PUSHED,
    cure: 'muster push-cert status; see the log for "push"',
  },
  {
    codes: /^(push_certificate_|several_push_topics)/,
    severity: 'warning',
    why: 'Once it ends, devices are not notified; with another topic each must enroll again.',
    cure: NEW_PUSH_CERTIFICATE,
  },
  {
    codes: /^devices_not_pushable$/,
    severity: 'warning',
    why: 'These devices get commands only when they poll by themselves.',
    cure: "muster api GET '/devices?filter[push_state]=unregistered'",
  },
  {
    codes: /^certificate_authority_(expired|not_yet_valid)$/,
    severity: 'error',
    why: 'No device can enroll or renew its identity with it.',
    cure: 'muster ca rotate',
  },
  {
    codes: /^certificate_authority_/,
    severity: 'warning',
    why: 'Identities end with the CA that issued them; a device without one must enroll again.',
    cure: 'muster ca rotate',
  },
  {
    codes: /^(ssl_certificate_(expired|not_yet_valid)|tls_|https_without_certificate$)/,
    severity: 'error',
    why: REFUSED,
    cure: 'muster api POST /ssl_certificates, or replace TLS_CERT_FILE and TLS_KEY_FILE',
  },
  {
    codes: /^ssl_certificate_/,
    severity: 'warning',
    why: 'Once it ends, devices refuse this server.',
    cure: 'muster api POST /ssl_certificates, or replace TLS_CERT_FILE and TLS_KEY_FILE',
  },
  {
    codes: /^restart_for_https$/,
    severity: 'warning',
    why: 'The certificate is not used yet.',
    cure: 'Restart the server.',
  },
  {
    codes: /^(dep_token_expired|dep_account_(terms_not_signed|token_rejected|token_expired))$/,
    severity: 'error',
    why: "Apple refuses every request of the account: new devices and profiles don't reach each other.",
    cure: "muster api GET '/dep/accounts?sort=id', and follow status_advice",
  },
  {
    codes: /^dep_/,
    severity: 'warning',
    why: 'What changes at Apple Business Manager or Apple School Manager is not seen here.',
    cure: "muster api GET '/dep/accounts?sort=id', and follow status_advice",
  },
  {
    codes: /^identities_expiring$/,
    severity: 'warning',
    why: 'A device whose identity has ended must be enrolled again by hand.',
    cure: 'muster api POST /devices/ID/renew_identity',
  },
  {
    codes: /^enrollments_held$/,
    severity: 'warning',
    why: 'Somebody waits, or somebody tries to take over a device.',
    cure: "muster api GET '/enrollment_requests?sort=-held_at'",
  },
  {
    codes: /^enrollment_open$/,
    severity: 'warning',
    why: 'Anyone can enroll a device and get profiles and their secrets, such as Wi-Fi passwords.',
    cure: 'Set ENROLLMENT=link or ENROLLMENT=closed.',
  },
  {
    codes: /^lab_on$/,
    severity: 'warning',
    why: 'Real devices are not pushed, and anybody can make trusted devices.',
    cure: 'For real devices set LAB=off. For a trial, leave it.',
  },
  {
    codes: /^(assignments_paused|profile_paused|mass_removal|rollout_halted)$/,
    severity: 'warning',
    why: 'Devices do not get, or lose, what is assigned to them.',
    cure: 'See docs/assignments.md and docs/rollouts.md.',
  },
];

/** For warnings that are newer than the rules. */
const OTHER: Omit<Rule, 'codes'> = {
  severity: 'warning',
  why: 'It keeps devices from being reached or managed, now or soon.',
  cure: 'muster api GET /credentials',
};

function findingOf({ code, detail }: Advice): Found {
  const { severity, why, cure } = RULES.find(({ codes }) => codes.test(code)) ?? OTHER;
  return (severity === 'error' ? error : warning)(code, { what: detail, why, cure });
}
