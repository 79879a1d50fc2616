import { ConfigError } from '../../config/config.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import {
  listTlsCertificates,
  type TlsCertificateRow,
} from '../../db/pki/tls-certificate-repository.js';
import { createWarner, type Logger, type Warner } from '../../logger.js';
import { timeFault } from '../certificates/certificate-fitness.js';
import { identityOfRow, isSameIdentity, type ServerIdentity } from './server-identity.js';
import { type TlsCaveat, type TlsConfig, tlsCaveats } from './tls-caveats.js';
import { TlsFiles } from './tls-files.js';

export interface TlsCertificatesDeps {
  config: TlsConfig;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

const POLL_MS = 60_000;

type Found =
  | { identity: ServerIdentity | undefined }
  /** Unusable files: their former content stays in use. */
  | { problems: readonly string[] }
  | 'unchanged';

/** Where the certificate comes from. */
interface Source {
  readonly isStored: boolean;
  read(): Promise<Found>;
}

/** The certificate of this server: files, else the newest stored one that can be used. */
export class TlsCertificates {
  /** Profiles are signed with it, also without TLS. */
  current: ServerIdentity | undefined;
  caveats: readonly TlsCaveat[] = [];
  /** Whether this process serves HTTPS: decided when it starts. */
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
    if (first !== undefined) this.#warnIfInvalid(first);
    this.#updateCaveats({ isAtHand: first !== undefined });
  }

  /** Calls `listener` with each certificate that replaces another. */
  onChange(listener: (identity: ServerIdentity) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Checks for another certificate. Rejects only when the database does not answer. Calls run one
   * by one, so that an earlier answer does not replace a later one.
   */
  refresh(): Promise<void> {
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  /** Refreshes every minute: files may change, stored certificates become valid or expire. */
  start(): void {
    const refresh = () => {
      this.refresh().catch((error: unknown) => {
        this.#warn({ err: error }, 'the ssl certificates could not be read');
      });
    };
    this.#timer ??= setInterval(refresh, POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #load(): Promise<void> {
    const found = await this.#source.read();
    if (found === 'unchanged') return;
    if ('problems' in found) {
      this.#updateCaveats({ isAtHand: true, problems: found.problems });
      return;
    }
    const { identity } = found;
    const { current } = this;
    if (identity === undefined) {
      if (!this.servesTls) this.current = undefined;
    } else if (current === undefined || !isSameIdentity(identity, current)) this.#use(identity);
    this.#updateCaveats({ isAtHand: identity !== undefined });
  }

  #use(identity: ServerIdentity): void {
    this.current = identity;
    for (const listener of this.#listeners) listener(identity);
    if (!this.servesTls) return;
    const { subject, notAfter } = identity.certificate;
    this.#deps.logger.info({ subject, notAfter }, 'HTTPS is served with another certificate');
    this.#warnIfInvalid(identity);
  }

  /** Logs a certificate that is not valid now. Later expiry is reported with all credentials. */
  #warnIfInvalid({ certificate }: ServerIdentity): void {
    const fault = timeFault(certificate, new Date());
    if (!this.servesTls || fault === undefined) return;
    const { subject, notBefore, notAfter } = certificate;
    const message = `devices refuse the TLS certificate: ${fault.detail}`;
    this.#deps.logger.warn({ subject, notBefore, notAfter }, message);
  }

  #updateCaveats(now: { isAtHand: boolean; problems?: readonly string[] }): void {
    const { config, logger } = this.#deps;
    const { servesTls, caveats: former } = this;
    const certificate = this.current?.certificate;
    this.caveats = tlsCaveats({ config, servesTls, certificate, problems: [], ...now });
    for (const { code, detail } of this.caveats) {
      if (!former.some((caveat) => caveat.detail === detail)) logger.warn({ code }, detail);
    }
  }
}

/** Reads the certificate for the first time. Throws ConfigError naming the faults of the files. */
export async function openTlsCertificates(deps: TlsCertificatesDeps): Promise<TlsCertificates> {
  const { tls } = deps.config;
  if (tls !== undefined) {
    const files = new TlsFiles(tls);
    const first = files.read();
    return new TlsCertificates(fileSource(files), first, deps);
  }
  const source = storedSource(deps);
  const found = await source.read();
  const first = typeof found === 'object' && 'identity' in found ? found.identity : undefined;
  return new TlsCertificates(source, first, deps);
}

function fileSource(files: TlsFiles): Source {
  const read = (): Found => {
    if (!files.haveChanged()) return 'unchanged';
    try {
      return { identity: files.read() };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { problems: error.problems };
    }
  };
  return { isStored: false, read: async () => read() };
}

function storedSource({ db, box, logger }: TlsCertificatesDeps): Source {
  const logged = new Set<number>();
  const open = (row: TlsCertificateRow) => {
    try {
      return identityOfRow(row, box);
    } catch (error) {
      const message = 'a stored ssl certificate cannot be used: the one before it stays';
      if (!logged.has(row.id)) logger.error({ err: error, certificateId: row.id }, message);
      logged.add(row.id);
      return undefined;
    }
  };
  const read = async () => {
    for (const row of await listTlsCertificates(db.knex)) {
      const identity = open(row);
      if (identity !== undefined) return { identity };
    }
    return { identity: undefined };
  };
  return { isStored: true, read };
}
