import type { DepAccountStatus } from '../../db/dep/dep-account-repository.js';
import type { DepError } from './dep-error.js';

const PORTAL =
  'Apple Business Manager (business.apple.com) or Apple School Manager (school.apple.com)';
const RENEW = `Sign in to ${PORTAL} as an administrator, open Preferences, choose this server under \
device management services, download its server token and upload it with POST /dep/stoken/upload`;

const ADVICE: { [status in DepAccountStatus]?: string } = {
  terms_not_signed: `Sign in to ${PORTAL} as an administrator and accept the new terms. Until then \
Apple serves nothing; afterwards the next sync goes on by itself.`,
  token_rejected: `${RENEW}. A token ends when another is made for the same server, when the server \
is deleted there, or when the administrator who made it leaves or changes the password.`,
  token_expired: `${RENEW}. Tokens end after a year; devices and profiles stay as they are.`,
  throttled:
    'Nothing: it goes on by itself when Apple allows. If it lasts, raise DEP_SYNC_INTERVAL.',
  error:
    "See Apple's words in status_text and the log. Update this server if there is a newer version.",
};

/** Of the lab's own tokens while it is off, and of Apple's while it is on. */
function labAdvice({ message }: DepError): string {
  return message.startsWith('the lab is on')
    ? `Start the server with LAB=off to go on with Apple's. To try things out with the lab, start it \
with another DATA_DIR or DATABASE_URL: beside this account it does not start.`
    : `Start the server with LAB=on to go on with the lab's, or delete the account \
(DELETE /api/v1/dep/accounts/ID): without the lab it is of no use.`;
}

function unreachableAdvice({ message }: DepError): string {
  if (message.includes('DEP_CA_FILE')) {
    return `If a proxy opens TLS connections here, exempt Apple's hosts from it, as Apple asks for; \
for another service name its CA in DEP_CA_FILE.`;
  }
  return `Check that this machine reaches the service by HTTPS: DNS, firewall, proxies (none may stand \
between), and DEP_HOST or the account's url if set. It is tried again by itself.`;
}

/** What an administrator is to do, and where; null where there is nothing wrong. */
export function adviceFor(status: DepAccountStatus, error: DepError): string | null {
  if (status === 'unreachable') return unreachableAdvice(error);
  if (status === 'lab_off') return labAdvice(error);
  if (error.message.startsWith('the clock of this server')) {
    const message = error.message.replace(/^the/, 'The');
    return `${message}. Set it right, best by NTP; then sync again.`;
  }
  return ADVICE[status] ?? null;
}
