import type { Config } from '../config.js';
import type { SecretBox } from '../crypto/secret-box.js';
import type { Database } from '../db/database.js';
import { listTlsCertificates, type TlsCertificateRow } from '../db/tls-certificate-repository.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import { identityOfRow, isSameIdentity, type ServerIdentity } from './server-identity.js';
import { TlsFiles } from './tls-files.js';

export interface TlsCertificatesDeps {
  config: Pick<Config, 'tls' | 'storedTls'>;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

/** What an admin is to know of this process: it goes on as it began until it is started again. */
export type TlsCaveat =
  /** It serves plain HTTP although there is a certificate now. */
  | 'restart_for_https'
  /** It serves HTTPS with a certificate that is stored no more. */
  | 'tls_certificate_gone';

/** The certificate of this server: files, else the newest stored one that can be used. */
export interface TlsCertificates {
  /** Whether this process serves HTTPS: decided when it starts. */
  readonly servesTls: boolean;
  /** Also without TLS: profiles are signed with it. */
  readonly current: ServerIdentity | undefined;
  readonly caveat: TlsCaveat | undefined;
  /** `listener` gets each certificate that takes the place of another. */
  onChange(listener: (identity: ServerIdentity) => void): void;
  /** Looks whether there is another one. Rejects only when the database does not answer. */
  refresh(): Promise<void>;
  /** Looks every minute: at files, and at what has begun or ceased to be valid. */
  start(): void;
  stop(): void;
}

const POLL_MS = 60_000;

/** Where the certificate comes from. */
interface Source {
  readonly isStored: boolean;
  /** undefined: none; `unchanged`: nothing new, or nothing that can be used. */
  read(): Promise<ServerIdentity | undefined | 'unchanged'>;
}

function fileSource(files: TlsFiles, logger: Logger): Source {
  const read = () => {
    if (!files.haveChanged()) return 'unchanged';
    try {
      return files.read();
    } catch (error) {
      const message = 'the new TLS_CERT_FILE and TLS_KEY_FILE cannot be used: the former stay';
      logger.warn({ err: error }, message);
      return 'unchanged';
    }
  };
  return { isStored: false, read: async () => read() };
}

function storedSource({ db, box, logger }: TlsCertificatesDeps): Source {
  const told = new Set<number>();
  const open = (row: TlsCertificateRow) => {
    try {
      return identityOfRow(row, box);
    } catch (error) {
      const message = 'a stored ssl certificate cannot be used: the one before it stays';
      if (!told.has(row.id)) logger.error({ err: error, certificateId: row.id }, message);
      told.add(row.id);
      return undefined;
    }
  };
  const read = async () => {
    for (const row of await listTlsCertificates(db.knex)) {
      const identity = open(row);
      if (identity !== undefined) return identity;
    }
    return undefined;
  };
  return { isStored: true, read };
}

class WatchedTlsCertificates implements TlsCertificates {
  current: ServerIdentity | undefined;
  caveat: TlsCaveat | undefined;
  readonly servesTls: boolean;
  readonly #source: Source;
  readonly #deps: TlsCertificatesDeps;
  readonly #warn: Warner;
  readonly #listeners: ((identity: ServerIdentity) => void)[] = [];
  #loading: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Source, first: ServerIdentity | undefined, deps: TlsCertificatesDeps) {
    this.#source = source;
    this.#deps = deps;
    this.#warn = createWarner(deps.logger);
    this.current = first;
    this.servesTls = first !== undefined && (!source.isStored || deps.config.storedTls);
  }

  onChange(listener: (identity: ServerIdentity) => void): void {
    this.#listeners.push(listener);
  }

  /** One after the other: an earlier answer must not replace a later one. */
  refresh(): Promise<void> {
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  start(): void {
    const look = () => {
      this.refresh().catch((error: unknown) => {
        this.#warn({ err: error }, 'the ssl certificates could not be read');
      });
    };
    this.#timer ??= setInterval(look, POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #load(): Promise<void> {
    const found = await this.#source.read();
    if (found === 'unchanged') return;
    this.#setCaveat(found);
    const { current } = this;
    if (found === undefined) {
      if (!this.servesTls) this.current = undefined;
    } else if (current === undefined || !isSameIdentity(found, current)) this.#take(found);
  }

  #take(identity: ServerIdentity): void {
    this.current = identity;
    for (const listener of this.#listeners) listener(identity);
    if (!this.servesTls) return;
    const { subject, notAfter } = identity.certificate;
    this.#deps.logger.info({ subject, notAfter }, 'HTTPS is served with another certificate');
  }

  #setCaveat(found: ServerIdentity | undefined): void {
    const former = this.caveat;
    this.caveat = this.#caveatOf(found);
    if (this.caveat === undefined || this.caveat === former) return;
    this.#deps.logger.warn({ code: this.caveat }, CAVEATS[this.caveat]);
  }

  #caveatOf(found: ServerIdentity | undefined): TlsCaveat | undefined {
    if (this.servesTls) return found === undefined ? 'tls_certificate_gone' : undefined;
    const isWanted = found !== undefined && this.#deps.config.storedTls;
    return isWanted ? 'restart_for_https' : undefined;
  }
}

export const CAVEATS: Record<TlsCaveat, string> = {
  restart_for_https:
    'There is an ssl certificate now, but this process serves plain HTTP until it is started ' +
    'again. Devices that are enrolled with an http: address stay with it: set PUBLIC_URL to an ' +
    'https: one first, or TLS=off if a proxy speaks TLS.',
  tls_certificate_gone:
    'HTTPS is served with an ssl certificate that is no longer stored, or cannot be used; after ' +
    'the next start it would be plain HTTP. POST one with its private key to ' +
    '/api/v1/ssl_certificates.',
};

/** Reads the certificate for the first time. Throws what is wrong with the files, if it is they. */
export async function openTlsCertificates(deps: TlsCertificatesDeps): Promise<TlsCertificates> {
  const { tls } = deps.config;
  if (tls !== undefined) {
    const files = new TlsFiles(tls);
    const first = files.read();
    return new WatchedTlsCertificates(fileSource(files, deps.logger), first, deps);
  }
  const source = storedSource(deps);
  const first = await source.read();
  return new WatchedTlsCertificates(source, first === 'unchanged' ? undefined : first, deps);
}
