import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { issueCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { readProfileFile } from '../../../src/lab/enrollment/enrollment-profile.js';

const PROFILE = readFileSync(
  join(__dirname, '..', '..', 'fixtures', 'enroll', 'enroll.mobileconfig'),
);

async function sign(content: Buffer): Promise<{ signed: Buffer; signer: Buffer }> {
  const { privateKey, publicKey } = await generateEcKeyPair();
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Profile signer' }],
    publicKey,
    issuerKey: privateKey,
    notBefore: new Date(Date.now() - 1000),
    notAfter: new Date(Date.now() + 60_000),
    keyUsage: ['digitalSignature'],
  });
  const signer = { certificate: parseCertificate(der), privateKey };
  return { signed: buildSignedData({ content, signer }), signer: der };
}

describe('a device that reads an enrollment profile', () => {
  it('refuses a signed one whose content was changed', async () => {
    const { signed } = await sign(PROFILE);
    const at = signed.indexOf('https://mdm.example.org/mdm');
    signed.write('https://mdm.example.com/mdm', at, 'latin1');
    expect(() => readProfileFile(signed)).toThrow(
      expect.objectContaining({ code: 'invalid_signature' }),
    );
  });

  it('refuses a file that is no enrollment profile', () => {
    expect(() => readProfileFile(Buffer.from('<html></html>'))).toThrow(
      expect.objectContaining({ code: 'invalid_plist' }),
    );
    const other = Buffer.from(PROFILE.toString().replace('com.apple.mdm<', 'com.apple.wifi<'));
    expect(() => readProfileFile(other)).toThrow(
      expect.objectContaining({ code: 'invalid_message' }),
    );
  });

  it('reads where to enroll and whether to sign', () => {
    const { mdm, scep, installed } = readProfileFile(PROFILE);
    expect(mdm).toEqual({
      serverUrl: 'https://mdm.example.org/mdm',
      checkInUrl: 'https://mdm.example.org/mdm',
      topic: 'com.apple.mgmt.External.YOUR-PUSH-TOPIC-HERE',
      isSigned: true,
      serverCapabilities: [
        'com.apple.mdm.per-user-connections',
        'com.apple.mdm.bootstraptoken',
        'com.apple.mdm.token',
      ],
    });
    expect(scep).toMatchObject({
      url: 'https://mdm.example.org/scep',
      challenge: 'SCEP-CHALLENGE-HERE',
      keySize: 2048,
      keyUsage: 5,
    });
    expect(installed.identifier).toBe('com.github.micromdm.nanomdm');
  });

  it('does not sign its messages when the profile does not ask for it', () => {
    const unsigned = PROFILE.toString().replace('<key>SignMessage</key>\n\t\t\t<true/>', '');
    expect(readProfileFile(Buffer.from(unsigned)).mdm.isSigned).toBe(false);
  });

  it('reads the same from a signed one, and keeps its signer', async () => {
    const { signed, signer } = await sign(PROFILE);
    const { mdm, installed } = readProfileFile(signed);
    expect(mdm.serverUrl).toBe('https://mdm.example.org/mdm');
    expect(installed.signerCertificates).toEqual([signer]);
  });
});
