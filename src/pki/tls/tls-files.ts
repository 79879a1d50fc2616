import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from '../../config/config.js';
import { isPem } from '../../crypto/asn1/pem.js';
import { importPrivateKey } from '../../crypto/keys/keys.js';
import { privateKeyBlocks } from '../../crypto/keys/private-key-pem.js';
import { isKeyOf } from '../certificates/certificate-chain.js';
import { readCertificateText } from '../certificates/certificate-text.js';
import { type ServerIdentity, serverIdentity } from './server-identity.js';

export interface TlsFilePaths {
  certFile: string;
  keyFile: string;
}

type Parts = Pick<ServerIdentity, 'certificate' | 'chain' | 'privateKey'>;

/** Reads the server's certificate, its chain and its key. Throws ConfigError naming the faults. */
export function readTlsFiles({ certFile, keyFile }: TlsFilePaths): ServerIdentity {
  const reading = new SettingFiles();
  const certificates = reading.attempt('TLS_CERT_FILE', () =>
    readCertificateText(readPem(certFile)),
  );
  const privateKey = reading.attempt('TLS_KEY_FILE', () => readKey(readPem(keyFile)));
  const [certificate, ...chain] = certificates ?? [];
  if (certificate === undefined || privateKey === undefined) throw reading.error();
  const parts = { certificate, chain, privateKey };
  const identity = reading.attempt('TLS_CERT_FILE, TLS_KEY_FILE', () => pair(parts));
  if (identity === undefined) throw reading.error();
  return identity;
}

/** A pair of files that another program replaces, as ACME clients do. */
export class TlsFiles {
  #stateAtRead = '';
  readonly #paths: TlsFilePaths;

  constructor(paths: TlsFilePaths) {
    this.#paths = paths;
  }

  /** Whether a file changed since the last `read`, even if it is only half written. */
  haveChanged(): boolean {
    return this.#state() !== this.#stateAtRead;
  }

  /** Throws ConfigError naming the faults. */
  read(): ServerIdentity {
    this.#stateAtRead = this.#state();
    return readTlsFiles(this.#paths);
  }

  #state(): string {
    const { certFile, keyFile } = this.#paths;
    return `${stateOf(certFile)} ${stateOf(keyFile)}`;
  }
}

/** Reads files named by settings; collects what the parts throw into one ConfigError. */
export class SettingFiles {
  readonly #problems: string[] = [];

  /** @param settings the names that the error message shows */
  attempt<T>(settings: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const { message = String(error) } = error as Partial<Error>;
      this.#problems.push(`${settings}: ${message}`);
      return undefined;
    }
  }

  /** Throws when there was any problem. */
  finish(): void {
    if (this.#problems.length > 0) throw this.error();
  }

  error(): ConfigError {
    return new ConfigError(this.#problems);
  }
}

function readPem(path: string): string {
  const bytes = readFileSync(path);
  if (isPem(bytes)) return bytes.toString('latin1');
  const remedy = 'openssl x509, openssl pkey and openssl pkcs12 convert DER and PKCS #12';
  throw new Error(`it is not PEM (${remedy})`);
}

function readKey(text: string) {
  const [pem, ...others] = privateKeyBlocks(text);
  if (pem === undefined) throw new Error('there is no private key in it');
  if (others.length > 0) throw new Error('there is more than one private key in it');
  if (pem.includes('ENCRYPTED')) {
    throw new Error('the key is encrypted; Muster needs it without a password');
  }
  return importPrivateKey(Buffer.from(pem, 'latin1'));
}

function pair({ certificate, chain, privateKey }: Parts): ServerIdentity {
  if (chain.some((other) => isKeyOf(privateKey, other)) && !isKeyOf(privateKey, certificate)) {
    throw new Error("the server's own certificate must come first, then its issuer");
  }
  return serverIdentity({ certificate, chain, privateKey });
}

/** Includes ctime, which changes when the file becomes readable. */
function stateOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
