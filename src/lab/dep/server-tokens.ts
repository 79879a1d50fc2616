import { createHmac } from 'node:crypto';
import { type ContentAlgorithm, sealEnvelopedData } from '../../crypto/cms/cms-enveloped-data.js';
import { exportPrivateKey } from '../../crypto/keys/keys.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { LabAuthority } from '../pki/lab-authority.js';

/** The content of a token file of Apple's portal. */
export interface ServerToken {
  consumer_key: string;
  consumer_secret: string;
  access_token: string;
  access_secret: string;
  access_token_expiry: string;
}

export interface AccessToken {
  /** Milliseconds since 1970. */
  issuedAt: number;
  expiresAt: number;
}

/** Prefix of a lab's consumer keys, which no other server accepts. */
const LAB_MARK = 'CK_lab';

const MAC_CHARACTERS = 40;

const CONSUMER_KEY = /^CK_[a-z]+_((?:[0-9a-f]{2}){1,100})_[0-9a-f]{40}$/;

const ACCESS_TOKEN = /^AT_O([0-9a-f]{12})_([0-9a-f]{12})_([0-9a-f]{40})$/;

/**
 * Tokens that need not be stored: they are derived from the lab's key, the server's name and the time
 * of issue, so they stay valid after a restart.
 */
export class ServerTokens {
  readonly #key: Buffer;

  /** With another `mark` a stand-in serves servers that are not in lab mode. */
  constructor(
    { privateKey }: LabAuthority,
    private readonly mark = LAB_MARK,
  ) {
    const key = createHmac('sha256', exportPrivateKey(privateKey));
    this.#key = key.update('enrollment program').digest();
  }

  /** A hexadecimal value derived from the lab's key. */
  derive(purpose: string): string {
    return createHmac('sha256', this.#key).update(purpose).digest('hex');
  }

  /** The same for all tokens of a server. */
  consumerKey(name: string): string {
    return `${this.mark}_${Buffer.from(name).toString('hex')}_${this.#mac('consumer key', name)}`;
  }

  /** The server's name; undefined for keys that were not issued here. */
  serverOf(consumerKey: string): string | undefined {
    const [, name = ''] = CONSUMER_KEY.exec(consumerKey) ?? [];
    const text = Buffer.from(name, 'hex').toString();
    return this.consumerKey(text) === consumerKey ? text : undefined;
  }

  issue(name: string, { issuedAt, expiresAt }: AccessToken): ServerToken {
    const times = `${hex(issuedAt)}_${hex(expiresAt)}`;
    const accessToken = `AT_O${times}_${this.#mac('access token', name, times)}`;
    return {
      consumer_key: this.consumerKey(name),
      ...this.#secrets(name, accessToken),
      access_token: accessToken,
      access_token_expiry: `${new Date(expiresAt).toISOString().slice(0, 19)}Z`,
    };
  }

  /** undefined for a token that was never issued to this server. */
  read(name: string, accessToken: string): AccessToken | undefined {
    const [, issued = '', expires = '', mac] = ACCESS_TOKEN.exec(accessToken) ?? [];
    if (mac !== this.#mac('access token', name, `${issued}_${expires}`)) return undefined;
    return { issuedAt: Number.parseInt(issued, 16), expiresAt: Number.parseInt(expires, 16) };
  }

  secretsOf(name: string, accessToken: string) {
    const { consumer_secret, access_secret } = this.#secrets(name, accessToken);
    return { consumerSecret: consumer_secret, tokenSecret: access_secret };
  }

  #secrets(name: string, accessToken: string) {
    return {
      consumer_secret: `CS_${this.#mac('consumer secret', name)}`,
      access_secret: `AS_${this.#mac('access secret', name, accessToken)}`,
    };
  }

  #mac(...parts: string[]): string {
    return this.derive(parts.join('/')).slice(0, MAC_CHARACTERS);
  }
}

const CRLF = '\r\n';

const LINE = /.{1,64}/g;

/**
 * The token file as Apple's portal sends it: S/MIME, encrypted to the recipient's key.
 * @throws AppError `invalid_certificate` for a certificate whose key is not RSA
 */
export function sealToken(
  token: ServerToken,
  recipient: ParsedCertificate,
  algorithm: ContentAlgorithm = 'aes-256-cbc',
): Buffer {
  const der = sealEnvelopedData(innerEntity(token), recipient, { algorithm });
  const lines = [
    'Content-Type: application/pkcs7-mime; name="smime.p7m"; smime-type=enveloped-data',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="smime.p7m"',
    'Content-Description: S/MIME Encrypted Message',
    '',
    ...(der.toString('base64').match(LINE) ?? []),
    '',
  ];
  return Buffer.from(lines.join(CRLF));
}

function hex(time: number): string {
  return Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
}

/** Like Apple, with an inner MIME header and marker lines around the token. */
function innerEntity(token: ServerToken): Buffer {
  const lines = [
    'Content-Type: text/plain;charset=UTF-8',
    'Content-Transfer-Encoding: 7bit',
    '',
    '-----BEGIN MESSAGE-----',
    JSON.stringify(token),
    '-----END MESSAGE-----',
    '',
  ];
  return Buffer.from(lines.join(CRLF));
}
