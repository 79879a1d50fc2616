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
/** A call that says nothing but whose token it is. */
const ACCOUNT = '/account';

/** undefined: it says nothing of the account, only of what was asked for. */
function statusOf({ kind, text }: DepError, path: string): DepAccountStatus | undefined {
  const isOfAll = path === ACCOUNT || REFUSES_SERVER.test(text);
  return STATUS[kind] ?? (kind === 'refused' && isOfAll ? 'error' : undefined);
}

/** What an account shows of its token. */
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

  /** As it stands on the account. */
  setStored(status: DepAccountStatus): void {
    this.#isOk = status === 'ok';
  }

  async recordSuccess(): Promise<void> {
    if (this.#isOk) return;
    await this.#write('ok', { text: null, advice: null });
    this.#isOk = true;
  }

  /** `path`: of the call. */
  async recordFailure(error: DepError, path: string): Promise<void> {
    const status = statusOf(error, path);
    if (status === undefined) return;
    this.#isOk = false;
    const text = tidy(error.text === '' ? error.message : error.text);
    await this.#write(status, { text, advice: adviceFor(status, error) });
  }

  async #write(
    status: DepAccountStatus,
    words: { text: string | null; advice: string | null },
  ): Promise<void> {
    const { db, logger } = this.#deps;
    if (!(await writeDepStatus(db.knex, this.#key, { status, ...words }))) return;
    const level = status === 'ok' ? 'info' : 'warn';
    const detail = words.text === null ? {} : { detail: words.text };
    const fields = { depAccountId: this.#key.id, status, ...detail };
    logger[level](fields, 'account of the enrollment program');
  }
}

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
