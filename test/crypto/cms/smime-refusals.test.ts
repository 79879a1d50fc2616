import { derContext, derNull, derOid, derSequence } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { sealEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import { buildCertsOnly, buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { canonicalLines, readSmime } from '../../../src/crypto/cms/smime.js';
import { AppError } from '../../../src/errors.js';
import { composeSmime } from '../../helpers/compose-smime.js';
import { openSmime } from '../../helpers/open-smime.js';
import { codeOf, type Identity, mutations, rsaIdentity } from '../identities.js';

const inner =
  'Content-Type: text/plain;charset=UTF-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\nhello\r\n';

describe('S/MIME refuses', () => {
  let identity: Identity;
  let der: Buffer;
  let base64: string;

  beforeAll(async () => {
    identity = await rsaIdentity();
    der = sealEnvelopedData(Buffer.from(inner), identity.certificate);
    base64 = der.toString('base64');
  });

  const open = (text: string | Buffer): string =>
    openSmime(typeof text === 'string' ? Buffer.from(text, 'latin1') : text, identity).toString();
  const message = (header: string, body = base64): string => `${header}\n\n${body}`;
  const typed = (contentType: string, body?: string): string =>
    message(`Content-Type: ${contentType}\nContent-Transfer-Encoding: base64`, body);
  const why = (text: string | Buffer): string => {
    try {
      open(text);
      return 'opened';
    } catch (error) {
      if (error instanceof AppError) return `${error.code}: ${error.message}`;
      throw error;
    }
  };

  it('more than 1 MiB, 100 headers or 64 KiB of them', () => {
    const long = `X: ${'x'.repeat(60)}\n`;
    expect(why(Buffer.alloc(1024 * 1024 + 1, 'A'))).toMatch('too large');
    expect(why(`${'X: y\n'.repeat(99)}${typed('application/pkcs7-mime')}`)).toMatch('too many');
    expect(why(`${'X: y\n'.repeat(98)}${typed('application/pkcs7-mime')}`)).toBe('opened');
    expect(why(`${`X: y\n${' z\n'.repeat(40_000)}`}${typed('application/pkcs7-mime')}`)).toMatch(
      'header too long',
    );
    expect(why(`${long.repeat(50)}${typed('application/pkcs7-mime')}`)).toBe('opened');
  });

  it('entities nested more than four deep', () => {
    const wrap = (text: string, depth: number): string =>
      depth === 0
        ? text
        : `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n${wrap(text, depth - 1)}\n--b${depth}--\n`;
    expect(open(wrap(typed('application/pkcs7-mime'), 3))).toBe('hello\r\n');
    expect(why(wrap(typed('application/pkcs7-mime'), 4))).toMatch('nested too deeply');
  });

  it('headers that occur twice', () => {
    const type = 'Content-Type: application/pkcs7-mime\n';
    expect(why(type + typed('text/plain'))).toMatch('two content-type headers');
    expect(why(type + typed('application/pkcs7-mime'))).toMatch('two content-type headers');
  });

  it('types, encodings and boundaries that it does not know', () => {
    expect(why(typed('text/plain'))).toMatch('no part is CMS');
    expect(why(typed('application/pgp-encrypted'))).toMatch('no part is CMS');
    expect(why(typed('application/octet-stream; name=smime.zip'))).toMatch('no part is CMS');
    expect(why(typed('pkcs7-mime'))).toMatch('bad content type');
    expect(
      why(message('Content-Transfer-Encoding: x-uuencode\nContent-Type: application/pkcs7-mime')),
    ).toMatch('unknown encoding');
    expect(why('Content-Type: multipart/mixed\n\n--\n\n----\n')).toMatch('bad boundary');
    const boundary = 'b'.repeat(71);
    expect(why(`Content-Type: multipart/mixed; boundary=${boundary}\n\n`)).toMatch('bad boundary');
    expect(why('Content-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n')).toMatch('is missing');
    const parts = '--b\n\nx\n'.repeat(33);
    expect(why(`Content-Type: multipart/mixed; boundary=b\n\n${parts}--b--`)).toMatch('too many');
  });

  it('bodies that are neither base64 nor DER, and other CMS messages', () => {
    expect(why(typed('application/pkcs7-mime', '!!!!'))).toMatch('bad base64');
    expect(why('')).toMatch('invalid_message');
    expect(why('hello')).toMatch('neither DER nor base64');
    expect(why(Buffer.from('hello').toString('base64'))).toMatch('no CMS message');
    expect(why(Buffer.concat([der, Buffer.alloc(1)]))).toMatch('no CMS message');
    const digested = derSequence(derOid('1.2.840.113549.1.7.5'), derContext(0, derSequence()));
    expect(why(digested)).toMatch('another CMS content type');
    expect(why(derSequence(derOid(Oid.data), derContext(0, derNull())))).toMatch('no CMS');
    expect(why(encodePem('CERTIFICATE', identity.certificate.der))).toMatch('no CMS message');
  });

  it('to open what is signed only', () => {
    const signed = buildSignedData({ content: Buffer.from(inner), signer: identity });
    expect(why(signed)).toMatch('it is not enveloped');
    expect(why(buildCertsOnly([identity.certificate]))).toMatch('it is not enveloped');
  });

  it('signed multiparts without exactly content and signature', () => {
    const signature = typed('application/pkcs7-signature', 'MAA=');
    const multipart = (...parts: string[]): string =>
      `Content-Type: multipart/signed; boundary=b\n\n${parts.map((part) => `--b\n${part}\n`).join('')}--b--\n`;
    expect(why(multipart('a'))).toMatch('not content and signature');
    expect(why(multipart('a', 'b'))).toMatch('not content and signature');
    expect(why(multipart('a', signature, signature))).toMatch('not content and signature');
    expect(why(multipart('a', typed('text/plain')))).toMatch('another kind of signature');
  });

  it('500 mutations of a message with nothing but an AppError', () => {
    const text = Buffer.from(typed('application/pkcs7-mime; (a (b)) smime-type="enveloped-data"'));
    const whole = composeSmime({
      type: 'signed-data',
      der: buildSignedData({
        content: canonicalLines(Buffer.from(inner)),
        signer: identity,
        detached: true,
      }),
      content: canonicalLines(Buffer.from(inner)),
    });
    for (const original of [text.subarray(0, 400), whole.subarray(0, 500), text, whole]) {
      for (const mutation of mutations(original, 125, original.length)) {
        expect([undefined, 'invalid_message']).toContain(codeOf(() => readSmime(mutation)));
        expect([undefined, 'invalid_message']).toContain(
          codeOf(() => openSmime(mutation, identity)),
        );
      }
    }
  });

  it('hostile text in linear time', () => {
    const started = performance.now();
    const nested = '('.repeat(30_000);
    const type = 'Content-Type: application/pkcs7-mime';
    const hostile = [
      `${type}; ${nested}\n\n${base64}`,
      `${type}${'; a='.repeat(15_000)}"\n\n`,
      `${type}${';'.repeat(60_000)}\n\n`,
      `${type};${' '.repeat(60_000)}x\n\n`,
      `Content-Type: multipart/mixed; boundary=b\n\n${'--b \n'.repeat(200_000)}`,
      `Content-Type: multipart/mixed; boundary=b\n\n${'\r'.repeat(1_000_000)}`,
      '\r'.repeat(1_000_000),
      `X: y\n${' \n'.repeat(30_000)}\n`,
      '='.repeat(1_000_000),
    ];
    for (const text of hostile) expect(why(text)).toMatch(/^invalid_message|^opened/);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
