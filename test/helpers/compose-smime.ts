import { randomBytes } from 'node:crypto';
import type { SmimeMessage } from '../../src/crypto/cms/smime.js';

const CRLF = '\r\n';

function base64Lines(der: Buffer): string {
  return (der.toString('base64').match(/.{1,76}/g) ?? []).join(CRLF);
}

function attachment(type: string, name: string, der: Buffer): string {
  return [
    `Content-Type: ${type}; name="${name}"`,
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment; filename="${name}"`,
    '',
    `${base64Lines(der)}${CRLF}`,
  ].join(CRLF);
}

function composeDetached(der: Buffer, content: Buffer): string {
  const boundary = randomBytes(16).toString('hex');
  const protocol = 'protocol="application/pkcs7-signature"';
  return [
    `Content-Type: multipart/signed; ${protocol}; micalg="sha-256"; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    content.toString('latin1'),
    `--${boundary}`,
    attachment('application/pkcs7-signature', 'smime.p7s', der),
    `--${boundary}--`,
    '',
  ].join(CRLF);
}

/**
 * Writes a message as S/MIME (RFC 8551) with base64 and CRLF. With `content`, the entity that was
 * signed (`canonicalLines`), the signature goes beside it as multipart/signed, by SHA-256.
 */
export function composeSmime({ type, der, content }: SmimeMessage): Buffer {
  const name = type === 'certs-only' ? 'smime.p7c' : 'smime.p7m';
  const entity =
    content === undefined
      ? attachment(`application/pkcs7-mime; smime-type=${type}`, name, der)
      : composeDetached(der, content);
  return Buffer.from(`MIME-Version: 1.0${CRLF}${entity}`, 'latin1');
}
