import { setImmediate } from 'node:timers/promises';
import { type EnvelopeRecipient, envelopeRecipients } from '../../crypto/cms/cms-enveloped-data.js';
import { openSmimeMessage, readSmime, type SmimeMessage } from '../../crypto/cms/smime.js';
import { importPrivateKey } from '../../crypto/keys/keys.js';
import type { SecretBox } from '../../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../../crypto/x509/certificate.js';
import type { Database } from '../../db/connection/database.js';
import { listTokenKeys, type TokenKeyRow } from '../../db/dep/dep-token-repository.js';
import { AppError } from '../../errors.js';
import { privateKeyLabel } from '../../pki/master-key/master-key.js';
import { type DepToken, parseTokenText, readDepToken } from '../../protocol/dep-token.js';

const MAX_KEYS = 50;

export interface OpenedToken {
  token: DepToken;
  /** Id of the certificate whose key opened it. */
  certificateId: number;
}

interface Sealed {
  message: SmimeMessage;
  recipients: EnvelopeRecipient[];
}

/**
 * Opens a server token of Apple's portal with the stored keys, those that the file names first.
 * AppError 422 `invalid_smime`, `no_matching_key` or `invalid_token`.
 */
export async function openToken(
  { db, box }: { db: Database; box: SecretBox },
  file: Buffer,
): Promise<OpenedToken> {
  const { message, recipients } = readSealed(file);
  const serials = recipients.flatMap((one) => ('serialHex' in one ? one.serialHex : []));
  const rows = await listTokenKeys(db.knex, { serials, most: MAX_KEYS });
  const keys = rows
    .map((row) => ({ row, certificate: parseCertificate(row.der) }))
    .map((key) => ({ ...key, isNamed: isNamed(key.certificate, recipients) }))
    .sort((one, other) => Number(other.isNamed) - Number(one.isNamed));
  for (const { row, certificate } of keys) {
    const members = tryKey(message, certificate, { row, box });
    if (members !== undefined) {
      return { token: readDepToken(members), certificateId: row.certificate_id };
    }
    await setImmediate();
  }
  const named = keys.find((key) => key.isNamed);
  throw named ? damagedToken(named.certificate) : noMatchingKey(recipients, rows);
}

const MAX_NAMED = 5;

const MAX_LENGTH = 100;

function readSealed(file: Buffer): Sealed {
  if (file.length === 0) throw invalidSmime('it is empty');
  try {
    const message = readSmime(file);
    return { message, recipients: envelopeRecipients(message.der) };
  } catch (cause) {
    const why = file[0] === 0x7b ? 'it looks like JSON' : reasonOf(cause);
    throw invalidSmime(why, cause);
  }
}

function isNamed(certificate: ParsedCertificate, recipients: EnvelopeRecipient[]): boolean {
  return recipients.some((recipient) =>
    'subjectKeyId' in recipient
      ? certificate.subjectKeyId?.toString('hex') === recipient.subjectKeyId
      : certificate.serialHex === recipient.serialHex && certificate.issuer === recipient.issuer,
  );
}

/** The JSON object that this key decrypts; undefined if it does not fit. */
function tryKey(
  message: SmimeMessage,
  certificate: ParsedCertificate,
  { row, box }: { row: TokenKeyRow; box: SecretBox },
): Record<string, unknown> | undefined {
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyLabel(row.fingerprint_sha256));
  try {
    const opener = { certificate, privateKey: importPrivateKey(pkcs8) };
    return parseTokenText(openSmimeMessage(message, opener));
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** One message for every failure with the named key, so that it is no padding oracle. */
function damagedToken(certificate: ParsedCertificate): AppError {
  const name = JSON.stringify(certificate.commonName ?? certificate.subject);
  const message =
    `the file was made for the certificate ${name} of this server, but does not contain a server ` +
    "token: it is damaged, or another file. Download it from Apple's portal again";
  return new AppError('invalid_token', 422, message);
}

/** Names the certificate that the file was made for, the stored ones, and the next step. */
function noMatchingKey(recipients: EnvelopeRecipient[], rows: TokenKeyRow[]): AppError {
  const message =
    `no key of this server opens the file. ${recipientsText(recipients)}, and ` +
    `${certificatesHere(rows)}. Download a certificate again (GET /dep/certificate/download), upload ` +
    "it to this server's entry at Apple's portal, and download a new server token there";
  return new AppError('no_matching_key', 422, message);
}

function invalidSmime(why: string, cause?: unknown): AppError {
  const message =
    `the file is not a readable S/MIME message (${why}). Upload the server token unchanged, as ` +
    "downloaded from Apple's portal: a file whose name ends with .p7m";
  return new AppError('invalid_smime', 422, message, { cause });
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof AppError)) throw cause;
  return cause.message.replace(/^not an S\/MIME message: /, '');
}

function recipientsText(recipients: EnvelopeRecipient[]): string {
  if (recipients.length === 0) return 'The file names no recipient with an RSA key';
  return `The file is for ${firstFew(recipients.map(recipientText))}`;
}

function certificatesHere(rows: TokenKeyRow[]): string {
  if (rows.length === 0) return 'this server has made no certificate for the portal yet';
  const named = rows.map(
    ({ certificate_id, x509_cn }) => `${shown(x509_cn ?? '')} (id ${certificate_id})`,
  );
  return `this server has the keys of ${firstFew(named)}`;
}

function firstFew(texts: string[]): string {
  const more = texts.length > MAX_NAMED ? `, and ${texts.length - MAX_NAMED} more` : '';
  return texts.slice(0, MAX_NAMED).join(', ') + more;
}

function recipientText(recipient: EnvelopeRecipient): string {
  if ('subjectKeyId' in recipient) return `the key ${shown(recipient.subjectKeyId)}`;
  return `the certificate ${shown(recipient.serialHex)} of ${shown(recipient.issuer)}`;
}

function shown(text: string): string {
  return JSON.stringify(text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text);
}
