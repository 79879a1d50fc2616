import type { Database } from '../../db/connection/database.js';
import {
  type DepAccountStatus,
  type DepTokenKey,
  writeDepStatus,
} from '../../db/dep/dep-account-repository.js';
import type { Logger } from '../../logger.js';
import { REFUSES_SERVER } from './answer-failure.js';
import { tidy } from './answer-texts.js';
import type { DepError } from './dep-error.js';

const STATUS: { [kind in DepError['kind']]?: DepAccountStatus } = {
  terms_not_signed: 'terms_not_signed',
  token_rejected: 'token_rejected',
  token_expired: 'token_expired',
  throttled: 'throttled',
  unreachable: 'unreachable',
  lab_off: 'lab_off',
};

/** The path of the call that fails only because of the token. */
const ACCOUNT = '/account';

/** Writes the outcome of calls to `dep_accounts.status`. */
export class AccountStatus {
  readonly #deps: { db: Database; logger: Logger };
  readonly #key: DepTokenKey;
  #isOk = false;

  constructor(
    deps: { db: Database; logger: Logger },
    { id, consumerKey, accessToken }: DepTokenKey,
  ) {
    this.#deps = deps;
    this.#key = { id, consumerKey, accessToken };
  }

  /** The status that the database has. */
  setStored(status: DepAccountStatus): void {
    this.#isOk = status === 'ok';
  }

  async recordSuccess(): Promise<void> {
    if (this.#isOk) return;
    await this.#write('ok', { text: null, advice: null });
    this.#isOk = true;
  }

  /** `path`: that of the call. */
  async recordFailure(error: DepError, path: string): Promise<void> {
    const status = statusOf(error, path);
    if (status === undefined) return;
    this.#isOk = false;
    const text = tidy(error.text === '' ? error.message : error.text);
    await this.#write(status, { text, advice: adviceFor(status, error) });
  }

  async #write(
    status: DepAccountStatus,
    message: { text: string | null; advice: string | null },
  ): Promise<void> {
    const { db, logger } = this.#deps;
    if (!(await writeDepStatus(db.knex, this.#key, { status, ...message }))) return;
    const level = status === 'ok' ? 'info' : 'warn';
    const fields = { depAccountId: this.#key.id, status, detail: message.text ?? undefined };
    logger[level](fields, 'DEP account status changed');
  }
}

const PORTAL =
  'Apple Business Manager (business.apple.com) or Apple School Manager (school.apple.com)';

const RENEW = `Sign in to ${PORTAL} as an administrator, open Preferences, choose this server under \
device management services, download its server token and upload it with POST /dep/stoken/upload`;

const ADVICE: { [status in DepAccountStatus]?: string } = {
  terms_not_signed: `Sign in to ${PORTAL} as an administrator and accept the new terms. Until then \
Apple answers no other request; afterwards the next sync continues automatically.`,
  token_rejected: `${RENEW}. A token ends when another is made for the same server, when the server \
is deleted there, or when the administrator who made it leaves or changes the password.`,
  token_expired: `${RENEW}. Tokens end after a year; devices and profiles stay as they are.`,
  throttled: 'Nothing: calls continue when Apple allows. If this lasts, raise DEP_SYNC_INTERVAL.',
  error:
    "See Apple's message in status_text and the log. Update this server if there is a newer version.",
};

/** What an admin should do, and where; null if nothing is wrong. */
export function adviceFor(status: DepAccountStatus, error: DepError): string | null {
  if (status === 'unreachable') return unreachableAdvice(error);
  if (status === 'lab_off') return labAdvice(error);
  if (error.message.startsWith('the clock of this server')) {
    const message = error.message.replace(/^the/, 'The');
    return `${message}. Correct it, best by NTP; then sync again.`;
  }
  return ADVICE[status] ?? null;
}

/** undefined: the error is about the request, not about the account. */
function statusOf({ kind, text }: DepError, path: string): DepAccountStatus | undefined {
  const isAboutAccount = path === ACCOUNT || REFUSES_SERVER.test(text);
  return STATUS[kind] ?? (kind === 'refused' && isAboutAccount ? 'error' : undefined);
}

function unreachableAdvice({ message }: DepError): string {
  if (message.includes('DEP_CA_FILE')) {
    return `If a proxy intercepts TLS connections, exempt Apple's hosts from it, as Apple requires; \
for another service name its CA in DEP_CA_FILE.`;
  }
  return `Check that this machine reaches the service by HTTPS: DNS, firewall, proxies (none is \
supported), and DEP_HOST or the account's url if set. Retried automatically.`;
}

/** For lab tokens while the lab is off, and Apple's tokens while it is on. */
function labAdvice({ message }: DepError): string {
  return message.startsWith('the lab is on')
    ? `Start the server with LAB=off to use this account. To try the lab, start the server with \
another DATA_DIR or DATABASE_URL: the lab does not start beside an Apple account.`
    : `Start the server with LAB=on to use this account, or delete it \
(DELETE /api/v1/dep/accounts/ID): it works with the lab only.`;
}
