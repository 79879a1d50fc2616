import { type OpenSsl, openSsl } from '../crypto/openssl.js';

export interface LeafOptions {
  /** Days from now; a leaf is valid from 30 days ago to 200 days ahead by default. */
  from?: number;
  until?: number;
  host?: string;
  key?: string[];
  digest?: string;
  issuer?: 'root' | 'intermediate' | 'itself';
}

export interface Leaf {
  key: Buffer;
  /** PEM of the leaf alone. */
  leaf: Buffer;
  /** PEM as a server should send it. */
  cert: Buffer;
}

const DAY_MS = 86_400_000;
const EC = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'];
export const RSA_1024 = ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024'];
export const RSA_2048 = ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'];

/** A root and an intermediate CA of OpenSSL's, which issues leaves with any dates and digests. */
export class PrivatePki {
  readonly #ssl: OpenSsl = openSsl();
  #count = 0;

  constructor() {
    this.#ssl.write('ca.conf', configuration());
    this.#ssl.write('serial', '1000\n');
    this.#ssl.write('index', '');
    this.#key('root', EC);
    this.#ssl.run(
      ...['req', '-x509', '-config', 'ca.conf', '-key', 'root.key', '-subj', '/CN=Test root'],
      ...['-days', '3650', '-extensions', 'authority', '-out', 'root.pem'],
    );
    this.#key('intermediate', EC);
    this.#request('intermediate', 'Test intermediate');
    this.#issue('intermediate', { issuer: 'root', extensions: 'authority', until: 2000 });
  }

  get root(): Buffer {
    return this.#ssl.read('root.pem');
  }

  leaf(options: LeafOptions = {}): Leaf {
    const { host = 'localhost', key = EC, issuer = 'intermediate' } = options;
    this.#count += 1;
    const name = `leaf${this.#count}`;
    this.#key(name, key);
    this.#request(name, host);
    this.#ssl.write(`${name}.ext`, leafExtensions(host));
    this.#issue(name, { ...options, issuer });
    const leaf = this.#ssl.read(`${name}.pem`);
    const above = issuer === 'intermediate' ? [this.#ssl.read('intermediate.pem')] : [];
    return { key: this.#ssl.read(`${name}.key`), leaf, cert: Buffer.concat([leaf, ...above]) };
  }

  remove(): void {
    this.#ssl.remove();
  }

  #key(name: string, key: string[]): void {
    this.#ssl.run('genpkey', ...key, '-out', `${name}.key`);
  }

  #request(name: string, commonName: string): void {
    const subject = ['-subj', `/CN=${commonName}`, '-key', `${name}.key`];
    this.#ssl.run('req', '-new', '-config', 'ca.conf', ...subject, '-out', `${name}.csr`);
  }

  #issue(name: string, options: LeafOptions & { extensions?: string }): void {
    const { from = -30, until = 200, digest = 'sha256', issuer, extensions } = options;
    const isSelf = issuer === 'itself';
    const by = isSelf
      ? ['-selfsign', '-keyfile', `${name}.key`]
      : ['-cert', `${issuer}.pem`, '-keyfile', `${issuer}.key`];
    const added =
      extensions === undefined ? ['-extfile', `${name}.ext`] : ['-extensions', extensions];
    this.#ssl.run(
      ...['ca', '-batch', '-notext', '-config', 'ca.conf', '-in', `${name}.csr`, '-md', digest],
      ...['-startdate', dateOf(from), '-enddate', dateOf(until), '-out', `${name}.pem`],
      ...by,
      ...added,
    );
  }
}

function configuration(): string {
  return `
[ca]
default_ca = default
[default]
new_certs_dir = .
database = index
serial = serial
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
`;
}

function leafExtensions(host: string): string {
  return `subjectAltName = DNS:${host}\nextendedKeyUsage = serverAuth\nkeyUsage = digitalSignature, keyEncipherment\n`;
}

/** As OpenSSL reads it: 20261125120000Z. */
function dateOf(days: number): string {
  const text = new Date(Date.now() + days * DAY_MS).toISOString();
  return `${text.slice(0, 19).replace(/[-:T]/g, '')}Z`;
}
