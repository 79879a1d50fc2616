import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { sealEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { canonicalLines, readSmime } from '../../../src/crypto/cms/smime.js';
import { importPrivateKey } from '../../../src/crypto/keys/keys.js';
import { composeSmime } from '../../helpers/compose-smime.js';
import { openSmime } from '../../helpers/open-smime.js';
import { codeOf, fixture, type Identity, rsaIdentity } from '../identities.js';

const inner =
  'Content-Type: text/plain;charset=UTF-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\nhello\r\n';

describe('S/MIME', () => {
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
  it.each(['\n', '\r\n', '\r'])('reads headers and base64 with line ends %j', (lineEnd) => {
    const lines = base64.match(/.{1,64}/g)?.join('\n') ?? '';
    const text = `MIME-Version: 1.0\n${typed('application/pkcs7-mime;\n\tname="smime.p7m"; smime-type=enveloped-data', lines)}\n`;
    expect(open(text.replaceAll('\n', lineEnd))).toBe('hello\r\n');
  });

  it('reads line ends in any mixture, and lines of any length', () => {
    const ends = ['\r\n', '\n', '\r'];
    const body = [...base64].map((letter, index) => letter + (ends[index % 5] ?? '')).join('');
    const header = 'MIME-Version: 1.0\r\nContent-Type: application/x-pkcs7-mime;\r  smime-type=x\n';
    expect(open(`${header}Content-Transfer-Encoding: base64\n\r\n${body}`)).toBe('hello\r\n');
    expect(open(`\r\n\n${header}\n${base64}`)).toBe('hello\r\n');
  });

  it.each([
    'Application/PKCS7-MIME; Name="smime.p7m"',
    'application/pkcs7-mime ; name = "a;b\\"c" ; smime-type = enveloped-data',
    'application/pkcs7-mime (a comment (in \\) another) "with quotes); name=x',
    '(before) application (between) / (both) x-pkcs7-mime',
    'application/octet-stream; name="SMIME.P7M"',
    'application/pkcs7-mime; name="(no comment"',
    'application/pkcs7-mime;',
  ])('reads Content-Type: %s', (contentType) => {
    expect(open(typed(contentType))).toBe('hello\r\n');
  });

  it('reads an encoding with a comment, in any case, and base64 that names none', () => {
    const type = 'Content-Type: application/pkcs7-mime\n';
    expect(open(message(`${type}content-transfer-encoding: BASE64 (of course)`))).toBe('hello\r\n');
    expect(open(message(`${type}Content-Transfer-Encoding: 7bit`))).toBe('hello\r\n');
    expect(open(`${type}\n${base64}`)).toBe('hello\r\n');
  });

  it('reads DER, PEM and base64 without any header, and DER after one', () => {
    expect(open(der)).toBe('hello\r\n');
    expect(open(base64)).toBe('hello\r\n');
    expect(open(` ${base64}\n\n`)).toBe('hello\r\n');
    for (const label of ['PKCS7', 'CMS']) expect(open(encodePem(label, der))).toBe('hello\r\n');
    const binary = 'Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: binary\n\n';
    expect(open(Buffer.concat([Buffer.from(binary), der]))).toBe('hello\r\n');
  });

  it('finds the message among the parts of a mail', () => {
    const part = typed('application/pkcs7-mime');
    const mail = [
      'From: someone@example.com',
      'Content-Type: multipart/mixed; boundary="a b"',
      '',
      'To be ignored',
      '--a b',
      '',
      'A text --a b',
      '--a b  ',
      'Content-Type: text/plain',
      '',
      '--a bc',
      '--a b',
      part,
      '--a b--',
      'To be ignored',
    ];
    for (const lineEnd of ['\n', '\r\n']) expect(open(mail.join(lineEnd))).toBe('hello\r\n');
  });

  it('reads the type from the message, whatever the header says', () => {
    const content = Buffer.from(inner);
    const { certificate } = identity;
    const expected = [
      ['enveloped-data', der],
      ['authEnveloped-data', sealEnvelopedData(content, certificate, { algorithm: 'aes-256-gcm' })],
      ['signed-data', buildSignedData({ content, signer: identity })],
      ['certs-only', buildCertsOnly([certificate])],
    ] as const;
    for (const [type, bytes] of expected) {
      expect(readSmime(bytes)).toEqual({ type, der: bytes });
      const text = typed('application/pkcs7-mime; smime-type=other', bytes.toString('base64'));
      expect(readSmime(Buffer.from(text))).toEqual({ type, der: bytes });
      expect(readSmime(composeSmime({ type, der: bytes }))).toEqual({ type, der: bytes });
    }
  });

  it('returns detached content with canonical line ends, or unchanged when binary', () => {
    for (const lineEnd of ['\n', '\r', '\r\n']) {
      const text = ['Content-Type: text/plain', '', 'one', '', 'two', ''].join(lineEnd);
      const content = canonicalLines(Buffer.from(text));
      expect(content.toString()).toBe(
        ['Content-Type: text/plain', '', 'one', '', 'two', ''].join('\r\n'),
      );
      const signature = buildSignedData({ content, signer: identity, detached: true });
      const composed = composeSmime({ type: 'signed-data', der: signature, content });
      const mangled = composed.toString('latin1').replaceAll('\r\n', lineEnd);
      const read = readSmime(Buffer.from(mangled, 'latin1'));
      expect(read).toEqual({ type: 'signed-data', der: signature, content });
      expect(verifySignedData({ content, der: read.der }).content).toEqual(content);
    }
    const binary = Buffer.from('Content-Transfer-Encoding: binary\n\na\rb\nc', 'latin1');
    const signature = buildSignedData({ content: binary, signer: identity, detached: true });
    const composed = composeSmime({ type: 'signed-data', der: signature, content: binary });
    expect(readSmime(composed).content).toEqual(binary);
  });

  describe('opened', () => {
    const openInner = (text: string): string =>
      open(sealEnvelopedData(Buffer.from(text, 'latin1'), identity.certificate));

    it('returns the whole content when it has no header', () => {
      for (const text of ['{"consumer_key":"a: b"}\n\n', 'X: y\n\nz', '', 'no header', '\n\n']) {
        expect(openInner(text)).toBe(text);
      }
    });

    it('returns the decoded body of the entity inside', () => {
      const encoded = Buffer.from('hello').toString('base64');
      expect(openInner(`Content-Transfer-Encoding: base64\n\n${encoded}`)).toBe('hello');
      const printable = 'Content-Transfer-Encoding: quoted-printable\n\nhel=\r\nl=6F=\n =zz';
      expect(openInner(printable)).toBe('hello =zz');
      expect(openInner('MIME-Version: 1.0\r\rhello')).toBe('hello');
    });

    it('returns the first text of a multipart inside, nested four deep at most', () => {
      const wrap = (text: string, depth: number): string =>
        depth === 0
          ? text
          : `Content-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n${wrap(text, depth - 1)}\n--b${depth}--`;
      const leaf = 'Content-Type: text/plain\n\nhello';
      expect(openInner(wrap(leaf, 3))).toBe('hello');
      expect(codeOf(() => openInner(wrap(leaf, 4)))).toBe('invalid_message');
    });

    it('returns the text of a server token as Apple writes it', () => {
      const token = fixture('dep/server-token.1.p7m');
      const privateKey = importPrivateKey(fixture('dep/server-token.1.key.pem'));
      const expected = JSON.parse(fixture('dep/server-token.1.expected.json').toString());
      const text = openSmime(token, { privateKey }).toString();
      const [, json = ''] =
        /-----BEGIN MESSAGE-----\s(.*)\s-----END MESSAGE-----/s.exec(text) ?? [];
      expect(JSON.parse(json)).toEqual(expected);
      for (const lineEnd of ['\r\n', '\r']) {
        const other = Buffer.from(token.toString('latin1').replaceAll(/\r?\n/g, lineEnd), 'latin1');
        expect(openSmime(other, { privateKey }).toString()).toBe(text);
      }
    });
  });
});
