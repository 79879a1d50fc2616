import type { Database } from '../../db/connection/database.js';
import {
  type DepAccountStatus,
  type DepTokenKey,
  writeDepStatus,
} from '../../db/dep/dep-account-repository.js';
import type { Logger } from '../../logger.js';
import { REFUSES_SERVER } from './answer-fault.js';
import { tidy } from './answer-texts.js';
import type { DepError } from './dep-error.js';
import { adviceFor } from './status-advice.js';

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
  see(status: DepAccountStatus): void {
    this.#isOk = status === 'ok';
  }

  async succeed(): Promise<void> {
    if (this.#isOk) return;
    await this.#write('ok', { text: null, advice: null });
    this.#isOk = true;
  }

  /** `path`: of the call. */
  async fail(error: DepError, path: string): Promise<void> {
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
