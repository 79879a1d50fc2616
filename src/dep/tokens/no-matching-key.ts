import type { EnvelopeRecipient } from '../../crypto/cms/cms-enveloped-data.js';
import type { TokenKeyRow } from '../../db/dep/dep-token-keys.js';
import { AppError } from '../../errors.js';

const MOST_NAMED = 5;
const LONGEST = 100;

function shown(text: string): string {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

function recipientText(recipient: EnvelopeRecipient): string {
  if ('subjectKeyId' in recipient) return `the key ${shown(recipient.subjectKeyId)}`;
  return `the certificate ${shown(recipient.serialHex)} of ${shown(recipient.issuer)}`;
}

function few(texts: string[]): string {
  const more = texts.length > MOST_NAMED ? `, and ${texts.length - MOST_NAMED} more` : '';
  return texts.slice(0, MOST_NAMED).join(', ') + more;
}

function forWhom(recipients: EnvelopeRecipient[]): string {
  if (recipients.length === 0) return 'The file names no recipient with an RSA key';
  return `The file is for ${few(recipients.map(recipientText))}`;
}

function certificatesHere(rows: TokenKeyRow[]): string {
  if (rows.length === 0) return 'this server has made no certificate for the portal yet';
  const named = rows.map(
    ({ certificate_id, x509_cn }) => `${shown(x509_cn ?? '')} (id ${certificate_id})`,
  );
  return `this server has the keys of ${few(named)}`;
}

/** Which certificate it was made for, which there are, and the way to one that fits. */
export function noMatchingKey(recipients: EnvelopeRecipient[], rows: TokenKeyRow[]): AppError {
  const message =
    `no key here opens the file. ${forWhom(recipients)}, and ${certificatesHere(rows)}. Download a ` +
    "certificate again (GET /dep/certificate/download), upload it to this server's entry at Apple's " +
    'portal, and get a new server token there';
  return new AppError('no_matching_key', 422, message);
}
