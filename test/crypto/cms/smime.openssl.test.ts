import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { sealEnvelopedData } from '../../../src/crypto/cms/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  readCertsOnly,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { canonicalLines, readSmime, type SmimeMessage } from '../../../src/crypto/cms/smime.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { composeSmime } from '../../helpers/compose-smime.js';
import { openSmime } from '../../helpers/open-smime.js';
import { asAuthority, type Identity, rsaIdentity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const text = 'Content-Type: text/plain\r\n\r\none\r\n\r\ntwo\r\n';
const content = Buffer.from(text);

describe('S/MIME with OpenSSL', () => {
  let tool: OpenSsl;
  let identity: Identity;

  beforeAll(async () => {
    tool = openSsl();
    identity = await rsaIdentity(asAuthority);
    tool.write('content', content);
    tool.write('unix', text.replaceAll('\r\n', '\n'));
    tool.write('id.pem', encodePem('CERTIFICATE', identity.certificate.der));
    tool.write('id.key', encodePem('PRIVATE KEY', exportPrivateKey(identity.privateKey)));
  });
  afterAll(() => tool.remove());

  const who = ['-signer', 'id.pem', '-inkey', 'id.key'];
  const verify = (message: Buffer): Buffer => {
    tool.write('message', message);
    const trust = ['-CAfile', 'id.pem', '-purpose', 'any'];
    return tool.run('smime', '-verify', '-in', 'message', ...trust);
  };
  const contentOf = ({ der, content: detached }: SmimeMessage): Buffer =>
    verifySignedData({ der, content: detached }).content;

  it.each(['smime', 'cms'])('we read what openssl %s signs', (command) => {
    for (const form of [[], ['-nodetach'], ['-stream'], ['-nodetach', '-stream'], ['-crlfeol']]) {
      for (const file of ['content', 'unix']) {
        const signed = tool.run(command, '-sign', '-in', file, ...who, ...form);
        const read = readSmime(signed);
        expect(read.type).toBe('signed-data');
        expect(read.content === undefined).toBe(form.includes('-nodetach'));
        expect(contentOf(read)).toEqual(content);
        const unix = Buffer.from(signed.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
        expect(contentOf(readSmime(unix))).toEqual(content);
      }
    }
  });

  it.each(['PEM', 'DER'])('we read what openssl signs in %s without a header', (form) => {
    for (const command of ['smime', 'cms']) {
      const options = ['-outform', form, '-nodetach', '-in', 'content'];
      expect(contentOf(readSmime(tool.run(command, '-sign', ...who, ...options)))).toEqual(content);
    }
  });

  it('we open what openssl encrypts, in every form', () => {
    for (const command of ['smime', 'cms']) {
      for (const form of [[], ['-stream'], ['-outform', 'PEM'], ['-outform', 'DER']]) {
        for (const cipher of ['-des3', '-aes128', '-aes256']) {
          const options = ['-in', 'content', cipher, ...form, 'id.pem'];
          const sealed = tool.run(command, '-encrypt', ...options);
          expect(openSmime(sealed, identity).toString()).toBe('one\r\n\r\ntwo\r\n');
        }
      }
    }
    const gcm = tool.run('cms', '-encrypt', '-in', 'content', '-aes-256-gcm', 'id.pem');
    expect(readSmime(gcm).type).toBe('authEnveloped-data');
    expect(openSmime(gcm, identity).toString()).toBe('one\r\n\r\ntwo\r\n');
  });

  it('we open what openssl makes of a server token, text and all', () => {
    const token = '-----BEGIN MESSAGE-----\n{"consumer_key":"CK"}\n-----END MESSAGE-----\n';
    tool.write('token', token);
    const sealed = tool.run('smime', '-encrypt', '-text', '-in', 'token', '-des3', 'id.pem');
    expect(openSmime(sealed, identity).toString()).toBe(token.replaceAll('\n', '\r\n'));
  });

  it('openssl verifies what we compose, and not when it is altered', () => {
    const detached = buildSignedData({ content, signer: identity, detached: true });
    const attached = buildSignedData({ content, signer: identity });
    const composed = composeSmime({ type: 'signed-data', der: detached, content });
    expect(verify(composed)).toEqual(content);
    expect(verify(composeSmime({ type: 'signed-data', der: attached }))).toEqual(content);
    const altered = Buffer.from(composed.toString('latin1').replace('two', 'tow'), 'latin1');
    expect(() => verify(altered)).toThrow();
    expect(() => contentOf(readSmime(altered))).toThrow('message digest');
    const unix = canonicalLines(Buffer.from(text.replaceAll('\r\n', '\n')));
    expect(unix).toEqual(content);
  });

  it('openssl opens what we compose', () => {
    const der = sealEnvelopedData(content, identity.certificate, { algorithm: 'aes-256-cbc' });
    tool.write('message', composeSmime({ type: 'enveloped-data', der }));
    const opened = tool.run(
      'smime',
      '-decrypt',
      '-in',
      'message',
      '-recip',
      'id.pem',
      '-inkey',
      'id.key',
    );
    expect(opened).toEqual(content);
  });

  it('each reads the certificates that the other puts in a message', () => {
    const der = buildCertsOnly([identity.certificate]);
    tool.write('bundle', composeSmime({ type: 'certs-only', der }));
    const listed = tool.run('smime', '-pk7out', '-in', 'bundle');
    expect(readCertsOnly(listed)[0]?.der).toEqual(identity.certificate.der);
    const bundle = tool.run('crl2pkcs7', '-nocrl', '-certfile', 'id.pem');
    expect(readSmime(bundle).type).toBe('certs-only');
    expect(readCertsOnly(readSmime(bundle).der)[0]?.der).toEqual(identity.certificate.der);
  });
});
