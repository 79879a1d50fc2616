import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodePemBlock } from '../../../src/crypto/asn1/pem.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { sealToken } from '../../../src/lab/dep/server-tokens.js';
import { openSsl } from '../../crypto/openssl.js';

const FIXTURES = join(__dirname, '..', '..', 'fixtures', 'dep', 'server-token.1');
const openssl = openSsl();

afterAll(() => openssl.remove());

it.each(['des-ede3-cbc', 'aes-256-cbc'] as const)('OpenSSL opens a token file (%s)', (cipher) => {
  const certificate = readFileSync(`${FIXTURES}.cert.pem`, 'utf8');
  const token = JSON.parse(readFileSync(`${FIXTURES}.expected.json`, 'utf8'));
  const recipient = parseCertificate(decodePemBlock(certificate, 'CERTIFICATE'));
  openssl.write('smime.p7m', sealToken(token, recipient, cipher));
  openssl.write('key.pem', readFileSync(`${FIXTURES}.key.pem`));
  const opened = openssl.run('smime', '-decrypt', '-in', 'smime.p7m', '-inkey', 'key.pem');
  const lines = opened.toString().split('\r\n');
  expect(lines[3]).toBe('-----BEGIN MESSAGE-----');
  expect(JSON.parse(lines[4] ?? '')).toEqual(token);
});
