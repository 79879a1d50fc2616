import { encodePem } from '../../crypto/asn1/pem.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import {
  hadToken,
  insertTokenCertificate,
  isAccount,
  markTokenCertificateUsed,
  recordToken,
  type TokenHolder,
  updateToken,
} from '../../db/dep/dep-token-repository.js';
import { insertCertificate } from '../../db/pki/certificate-repository.js';
import { AppError, notFound } from '../../errors.js';
import type { Changes } from '../../events/audit.js';
import type { JobQueue } from '../../jobs/job-queue.js';
import { checkCredentialsSoon } from '../../jobs/tasks/check-credentials.js';
import { certificateRecord } from '../../pki/certificates/certificate-record.js';
import { storeSealedKey } from '../../pki/certificates/stored-keys.js';
import type { Advice } from '../../pki/credentials/credential-advice.js';
import { isNoticeDue } from '../../pki/credentials/credential-notices.js';
import type { DepToken } from '../../protocol/dep-token.js';
import { DepJobs } from '../dep-jobs.js';
import { type OpenedToken, openToken } from './open-token.js';
import { makeTokenCertificate } from './token-certificate.js';
import { requireSameEnvironment, tokenWarnings } from './token-checks.js';
import { findTokenAccount, type TokenAccount } from './token-place.js';

export interface DepTokensDeps {
  db: Database;
  box: SecretBox;
  jobs: JobQueue;
  /** While the lab is on only its own tokens are accepted, otherwise only Apple's. */
  isLabOn: boolean;
  now?: () => Date;
}

export interface StoreTokenOptions {
  /** Whether an account may switch to another server at Apple. */
  isForced: boolean;
  /** Name of the actor who uploaded it. */
  by: string;
}

export interface StoredToken {
  accountId: number;
  /** unchanged: the account already had this token. */
  outcome: TokenAccount['outcome'] | 'unchanged';
  warnings: Advice[];
  /** Changed columns of the account, for the audit trail. */
  changes: Changes;
}

export interface NewTokenCertificate {
  id: number;
  pem: string;
}

/** An opened token file; nothing is stored yet. */
export interface UploadedToken {
  /** Stores it in its account, or in a new one. AppError 409 `token_mismatch`. */
  store(trx: Transaction, options: StoreTokenOptions): Promise<StoredToken>;
}

/** Server tokens: the portal encrypts them to a certificate of this server. */
export class DepTokens {
  readonly #deps: DepTokensDeps;
  readonly #jobs: DepJobs;
  readonly #now: () => Date;

  constructor(deps: DepTokensDeps) {
    this.#deps = deps;
    this.#jobs = new DepJobs(deps.jobs);
    this.#now = deps.now ?? (() => new Date());
  }

  /** Creates and stores a key pair beside those in use. AppError 404 unknown account. */
  async makeCertificate(
    trx: Transaction,
    accountId: number | undefined,
  ): Promise<NewTokenCertificate> {
    if (accountId !== undefined && !(await isAccount(trx, accountId))) {
      throw notFound(`dep_accounts ${accountId}`);
    }
    const { certificate, privateKey } = await makeTokenCertificate(this.#now());
    const name = certificate.commonName ?? null;
    const keyId = await storeSealedKey(trx, this.#deps.box, { key: privateKey, name });
    const record = certificateRecord(certificate, 'dep.stoken');
    const id = await insertCertificate(trx, { ...record, rsa_private_key_id: keyId });
    await insertTokenCertificate(trx, id, accountId ?? null);
    return { id, pem: encodePem('CERTIFICATE', certificate.der) };
  }

  /**
   * Opens a token file of the portal without storing it. AppError 422 `invalid_smime`,
   * `no_matching_key`, `invalid_token` or `token_expired`; 409 `lab_only`.
   */
  async open(file: Buffer): Promise<UploadedToken> {
    const opened = await openToken(this.#deps, file);
    const { consumerKey, expiry } = opened.token;
    if (expiry !== null && expiry <= this.#now()) {
      const message =
        `the token expired on ${expiry.toISOString()}: get a new one from Apple's portal. If it was ` +
        "created just now, this server's clock is wrong";
      throw new AppError('token_expired', 422, message);
    }
    requireSameEnvironment(consumerKey, this.#deps);
    return { store: (trx, options) => this.#store(trx, opened, options) };
  }

  async #store(
    trx: Transaction,
    { token, certificateId }: OpenedToken,
    { isForced, by }: StoreTokenOptions,
  ): Promise<StoredToken> {
    const intendedId = await markTokenCertificateUsed(trx, certificateId);
    const { consumerKey } = token;
    const { account, outcome } = await findTokenAccount(trx, { consumerKey, intendedId, isForced });
    const isSame = this.#isSame(account, token);
    const isFormer = !isSame && (await hadToken(trx, account.id, token.accessToken));
    if (!isSame) {
      const columns = {
        ...this.#columnsOf(account.id, token),
        token_certificate_id: certificateId,
      };
      await updateToken(trx, account.id, { ...columns, isOtherServer: outcome === 'replaced' });
      await recordToken(trx, account.id, by);
    }
    await this.#schedule(trx, account.id, token);
    return {
      accountId: account.id,
      outcome: isSame ? 'unchanged' : outcome,
      warnings: tokenWarnings({ expiry: token.expiry, isFormer }, this.#now()),
      changes: isSame ? {} : tokenChanges(account, token),
    };
  }

  /** Confirms the account with Apple, and warns of a token that expires soon. */
  async #schedule(trx: Transaction, accountId: number, { expiry }: DepToken): Promise<void> {
    await this.#jobs.confirm(trx, accountId);
    if (expiry === null || !isNoticeDue(expiry, this.#now())) return;
    await checkCredentialsSoon(this.#deps.jobs, trx);
  }

  #columnsOf(id: number, token: DepToken) {
    const { box } = this.#deps;
    const seal = (name: string, secret: string) =>
      box.seal(Buffer.from(secret, 'utf8'), identityOf(id, name));
    return {
      consumer_key: token.consumerKey,
      access_token: token.accessToken,
      sealed_consumer_secret: seal('consumer_secret', token.consumerSecret),
      sealed_access_secret: seal('access_secret', token.accessSecret),
      access_token_expiry: token.expiry,
    };
  }

  #isSame(account: TokenHolder, token: DepToken): boolean {
    const { box } = this.#deps;
    const opens = (name: string, sealed: Buffer | null, secret: string) =>
      sealed !== null && box.open(sealed, identityOf(account.id, name)).toString('utf8') === secret;
    return (
      account.consumer_key === token.consumerKey &&
      account.access_token === token.accessToken &&
      account.access_token_expiry?.getTime() === token.expiry?.getTime() &&
      opens('consumer_secret', account.sealed_consumer_secret, token.consumerSecret) &&
      opens('access_secret', account.sealed_access_secret, token.accessSecret)
    );
  }
}

function tokenChanges(former: TokenHolder, token: DepToken): Changes {
  const isNewKey = former.access_token === null || former.consumer_key !== token.consumerKey;
  const changes: Changes = {
    consumer_secret: 'changed',
    access_token: 'changed',
    access_secret: 'changed',
    access_token_expiry: [former.access_token_expiry, token.expiry],
  };
  if (isNewKey) changes.consumer_key = 'changed';
  return changes;
}

function identityOf(id: number, name: string): string {
  return `dep_accounts/${id}/${name}`;
}
