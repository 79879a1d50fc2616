import { readEnrollmentProfile } from '../../../src/lab/enrollment/profile-reader.js';
import {
  buildPlist,
  isPlistDict,
  type PlistDict,
  parsePlistDict,
} from '../../../src/protocol/plist/plist.js';
import {
  buildEnrollmentProfile,
  type EnrollmentProfileOptions,
} from '../../../src/protocol/profiles/mobileconfig.js';
import { fixture } from '../plist/plist-fixtures.js';

const CA = Buffer.from('3003020101', 'hex');
const OPTIONS: EnrollmentProfileOptions = {
  organization: { name: 'Example', payload_prefix: 'org.example' },
  scep: {
    url: 'https://mdm.example.org/scep',
    name: 'Example CA',
    subject: [[['O', 'Example']], [['CN', 'device %SerialNumber%']]],
    challenge: 'secret',
    retries: 5,
    retryDelay: 3,
    caFingerprint: Buffer.alloc(20, 7),
    subjectAltName: { dNSName: 'a.example.org', rfc822Name: ['a@example.org', 'b@example.org'] },
  },
  mdm: {
    serverUrl: 'https://mdm.example.org/mdm',
    topic: 'com.apple.mgmt.External.x',
    answersGetToken: true,
  },
  caCertificates: [CA],
  uuidSeed: 'seed',
};

function payloads(profile: PlistDict): PlistDict[] {
  const content = profile.PayloadContent;
  return Array.isArray(content) ? content.filter(isPlistDict) : [];
}

describe('building the enrollment profile', () => {
  const profile = parsePlistDict(buildEnrollmentProfile(OPTIONS));
  const [ca, scep, mdm] = payloads(profile);

  it('is a system profile of the organization', () => {
    const { PayloadContent, PayloadUUID, ...head } = profile;
    expect(head).toEqual({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 'org.example.enroll',
      PayloadDisplayName: 'Example device management',
      PayloadOrganization: 'Example',
      PayloadScope: 'System',
    });
    expect(PayloadUUID).toMatch(
      /^[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/,
    );
    expect(payloads(profile).map(({ PayloadIdentifier }) => PayloadIdentifier)).toEqual([
      'org.example.ca',
      'org.example.scep',
      'org.example.mdm',
    ]);
  });

  it('carries the CA certificate', () => {
    expect(ca).toMatchObject({ PayloadType: 'com.apple.security.root', PayloadContent: CA });
  });

  it('requests an identity by a SCEP payload', () => {
    expect(scep).toMatchObject({
      PayloadType: 'com.apple.security.scep',
      PayloadContent: {
        URL: 'https://mdm.example.org/scep',
        Name: 'Example CA',
        Subject: [[['O', 'Example']], [['CN', 'device %SerialNumber%']]],
        Challenge: 'secret',
        Keysize: 2048,
        'Key Type': 'RSA',
        'Key Usage': 5,
        CAFingerprint: Buffer.alloc(20, 7),
        Retries: 5,
        RetryDelay: 3,
        SubjectAltName: {
          dNSName: 'a.example.org',
          rfc822Name: ['a@example.org', 'b@example.org'],
        },
        AllowAllAppsAccess: false,
        KeyIsExtractable: false,
      },
    });
  });

  it('manages with signed messages and all rights', () => {
    const { PayloadUUID, PayloadDisplayName, ...keys } = mdm ?? {};
    expect(PayloadUUID).not.toBe(scep?.PayloadUUID);
    expect(PayloadDisplayName).toBe('Device management');
    expect(keys).toEqual({
      PayloadType: 'com.apple.mdm',
      PayloadVersion: 1,
      PayloadIdentifier: 'org.example.mdm',
      IdentityCertificateUUID: scep?.PayloadUUID,
      Topic: 'com.apple.mgmt.External.x',
      ServerURL: 'https://mdm.example.org/mdm',
      SignMessage: true,
      CheckOutWhenRemoved: true,
      AccessRights: 8191,
      ServerCapabilities: [
        'com.apple.mdm.per-user-connections',
        'com.apple.mdm.bootstraptoken',
        'com.apple.mdm.token',
      ],
    });
  });

  it('leaves out what is not set', () => {
    const bare = buildEnrollmentProfile({ ...OPTIONS, scep: { url: 'https://x/scep' } });
    const content = payloads(parsePlistDict(bare))[1]?.PayloadContent as PlistDict;
    expect(Object.keys(content)).toEqual([
      'URL',
      'Keysize',
      'Key Type',
      'Key Usage',
      'AllowAllAppsAccess',
      'KeyIsExtractable',
    ]);
  });

  it('announces GetToken only if it is answered', () => {
    const { answersGetToken: _tokens, ...bare } = OPTIONS.mdm;
    const without = payloads(parsePlistDict(buildEnrollmentProfile({ ...OPTIONS, mdm: bare })));
    expect(without[2]?.ServerCapabilities).toEqual([
      'com.apple.mdm.per-user-connections',
      'com.apple.mdm.bootstraptoken',
    ]);
  });

  it('is the same file for the same seed, and another for another or none', () => {
    const bytes = buildEnrollmentProfile(OPTIONS);
    expect(buildEnrollmentProfile(OPTIONS)).toEqual(bytes);
    expect(buildEnrollmentProfile({ ...OPTIONS, uuidSeed: 'other' })).not.toEqual(bytes);
    const { uuidSeed: _seed, ...unseeded } = OPTIONS;
    expect(buildEnrollmentProfile(unseeded)).not.toEqual(buildEnrollmentProfile(unseeded));
  });

  it('has distinct payloads for several CA certificates', () => {
    const two = buildEnrollmentProfile({ ...OPTIONS, caCertificates: [CA, CA] });
    const identifiers = payloads(parsePlistDict(two)).map((payload) => payload.PayloadIdentifier);
    expect(identifiers.slice(0, 2)).toEqual(['org.example.ca', 'org.example.ca.2']);
  });
});

describe('reading an enrollment profile', () => {
  it('refuses other property lists', () => {
    expect(() => readEnrollmentProfile(Buffer.from('x'))).toThrow('Not a valid property list');
    expect(() => readEnrollmentProfile(buildPlist({}))).toThrow('it has no com.apple.mdm payload');
    const noIdentity = buildPlist({ PayloadContent: [{ PayloadType: 'com.apple.mdm' }] });
    expect(() => readEnrollmentProfile(noIdentity)).toThrow('its identity is no SCEP payload');
    const badSubject = { ...OPTIONS.scep, subject: [[['CN'] as unknown as [string, string]]] };
    const bytes = buildEnrollmentProfile({ ...OPTIONS, scep: badSubject });
    expect(() => readEnrollmentProfile(bytes)).toThrow('no array of arrays of pairs');
  });

  it('reads what was built', () => {
    const { identifier, scep, mdm, caCertificates } = readEnrollmentProfile(
      buildEnrollmentProfile(OPTIONS),
    );
    expect(identifier).toBe('org.example.enroll');
    expect(scep).toStrictEqual({ ...OPTIONS.scep, keySize: 2048, keyUsage: 5 });
    expect(mdm).toStrictEqual({
      serverUrl: 'https://mdm.example.org/mdm',
      checkInUrl: 'https://mdm.example.org/mdm',
      topic: 'com.apple.mgmt.External.x',
      accessRights: 8191,
      signMessage: true,
      checkOutWhenRemoved: true,
      serverCapabilities: [
        'com.apple.mdm.per-user-connections',
        'com.apple.mdm.bootstraptoken',
        'com.apple.mdm.token',
      ],
    });
    expect(caCertificates).toEqual([CA]);
  });

  it("reads another server's profile", () => {
    const profile = readEnrollmentProfile(fixture('enroll/enroll.mobileconfig'));
    expect(profile.scep).toStrictEqual({
      url: 'https://mdm.example.org/scep',
      challenge: 'SCEP-CHALLENGE-HERE',
      keySize: 2048,
      keyUsage: 5,
      retries: 3,
      retryDelay: 10,
    });
    expect(profile.mdm).toMatchObject({ signMessage: true, checkOutWhenRemoved: true });
    expect(profile.caCertificates).toEqual([]);
  });
});
