import { type ContentAlgorithm, sealEnvelopedData } from '../../crypto/cms/cms-enveloped-data.js';
import type { ParsedCertificate } from '../../crypto/x509/certificate.js';
import type { ServerToken } from './server-tokens.js';

const CRLF = '\r\n';
const LINE = /.{1,64}/g;

/** Apple writes a MIME header inside, too, and puts the token between lines of its own. */
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

/**
 * The file that Apple's portal lets one download: the token, as S/MIME for the holder of the key.
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
