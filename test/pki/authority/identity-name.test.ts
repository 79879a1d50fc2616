import {
  type IdentityNameSettings,
  identityName,
  type ProvenFacts,
} from '../../../src/pki/authority/identity-name.js';

const ID = '0f1e2d3c4b5a69788796a5b4c3d2e1f0';
const PROVEN = { udid: '00008110-001A2B3C4D5E6F70', serialNumber: 'C02ABCDEFGHJ' };
const ORGANIZATION = {
  name: 'Example School',
  x509_c: null,
  x509_st: null,
  x509_o: null,
  x509_ou: null,
};

function settings(
  subject: string | null,
  subject_alt_name: Record<string, unknown> | null = null,
): IdentityNameSettings {
  return { organization: ORGANIZATION, scep: { subject, subject_alt_name } };
}

function subjectBy(template: string | null, facts: ProvenFacts = {}): string {
  const { subject } = identityName(settings(template), facts, ID);
  return subject.map(({ type, value }) => `${type}=${value}`).join('/');
}

function namesBy(names: Record<string, unknown>, facts: ProvenFacts = {}) {
  return identityName(settings(null, names), facts, ID).subjectAltName;
}

describe('the subject of an identity', () => {
  it.each<[string, string | null, string]>([
    ['the default template', null, `O=Example School/CN=${ID}`],
    ['a template with a serial number', 'O=A/OU=%SerialNumber%/CN=%HardwareUUID%', `O=A/CN=${ID}`],
    ['a variable amid text', 'O=A/CN=Mac %SerialNumber%', `O=A/CN=${ID}`],
    ['what only a Mac knows', 'O=A/CN=%ComputerName%', `O=A/CN=${ID}`],
    ['a variable that nobody knows', 'O=A/CN=%UDID%', `O=A/CN=${ID}`],
    ['a common name by its object identifier', 'O=A/2.5.4.3=%HardwareUUID%', `O=A/2.5.4.3=${ID}`],
    ['a template without a common name', 'O=A/OU=%SerialNumber%', `O=A/CN=${ID}`],
    ['nothing but a variable', 'OU=%SerialNumber%', `CN=${ID}`],
    ['an attribute that does not exist', '9.9.9=x', `CN=${ID}`],
    ['an object identifier beyond all', `1.${'9'.repeat(30)}=x/CN=Static`, 'CN=Static'],
  ])('is only the id of the challenge while nothing is proven: %s', (_what, template, name) => {
    expect(subjectBy(template)).toBe(name);
    expect(subjectBy(template, { udid: null, serialNumber: '', account: undefined })).toBe(name);
  });

  it('keeps attributes without variables, including a common name', () => {
    expect(subjectBy('/C=DE/O=A, Inc./CN=100% device')).toBe('C=DE/O=A, Inc./CN=100% device');
    expect(subjectBy('O=A/OU=%SerialNumber%/CN=Device')).toBe('O=A/CN=Device');
    expect(subjectBy('O=A')).toBe('O=A');
  });

  it('contains the proven facts', () => {
    expect(subjectBy(null, PROVEN)).toBe(`O=Example School/CN=${PROVEN.udid}`);
    const both = 'O=A/OU=%SerialNumber%/CN=device-%HardwareUUID%-%SerialNumber%';
    expect(subjectBy(both, PROVEN)).toBe(
      `O=A/OU=${PROVEN.serialNumber}/CN=device-${PROVEN.udid}-${PROVEN.serialNumber}`,
    );
    expect(subjectBy('O=A/CN=%Account%', { account: 'alice@example.com' })).toBe(
      'O=A/CN=alice@example.com',
    );
  });

  it('leaves out one fact when only another is proven', () => {
    expect(subjectBy('OU=%Account%/CN=%HardwareUUID%', { account: 'a@example.com' })).toBe(
      `OU=a@example.com/CN=${ID}`,
    );
    expect(subjectBy('CN=%Account% %SerialNumber%', { account: 'a@example.com' })).toBe(`CN=${ID}`);
  });

  it('contains a fact as plain text, whatever characters it has', () => {
    const account = 'a/O=Apple Inc.%SerialNumber%$&@example.com';
    const { subject } = identityName(settings('CN=%Account%'), { account, ...PROVEN }, ID);
    expect(subject).toEqual([{ type: 'CN', value: account }]);
  });

  it("has the organization's attributes in the default template", () => {
    const organization = {
      ...ORGANIZATION,
      x509_c: 'DE',
      x509_st: 'BY',
      x509_o: 'A',
      x509_ou: 'IT',
    };
    const scep = { subject: null, subject_alt_name: null };
    const { subject } = identityName({ organization, scep }, {}, ID);
    expect(subject.map(({ type }) => type)).toEqual(['C', 'ST', 'O', 'OU', 'CN']);
  });
});

describe('the alternative names of an identity', () => {
  it('are left out with a variable that is not proven', () => {
    const names = {
      rfc822Name: ['%Account%', 'device-%SerialNumber%@example.com'],
      dNSName: '%HostName%',
      uniformResourceIdentifier: 'urn:device:%HardwareUUID%',
      ntPrincipalName: '%SerialNumber%@corp.example',
    };
    expect(namesBy(names)).toEqual([]);
    expect(identityName(settings(null), {}, ID).subjectAltName).toEqual([]);
  });

  it('come from the settings, with the proven facts', () => {
    const names = {
      rfc822Name: ['%Account%', 'mdm@example.com', 'it-%SerialNumber%@example.com'],
      dNSName: '%SerialNumber%.devices.example.com',
      uniformResourceIdentifier: ['urn:device:%HardwareUUID%'],
      ntPrincipalName: '%Account%',
    };
    expect(namesBy(names, PROVEN)).toEqual([
      { type: 'email', value: 'mdm@example.com' },
      { type: 'email', value: `it-${PROVEN.serialNumber}@example.com` },
      { type: 'dns', value: `${PROVEN.serialNumber}.devices.example.com` },
      { type: 'uri', value: `urn:device:${PROVEN.udid}` },
    ]);
    expect(namesBy(names, { account: 'alice@example.com' })).toEqual([
      { type: 'email', value: 'alice@example.com' },
      { type: 'email', value: 'mdm@example.com' },
      { type: 'upn', value: 'alice@example.com' },
    ]);
  });

  it('are left out when they cannot be written: only a principal name may have other letters', () => {
    const account = 'björn@example.com';
    const names = { rfc822Name: '%Account%', ntPrincipalName: '%Account%', dNSName: [7, 'a b'] };
    expect(namesBy(names, { account })).toEqual([{ type: 'upn', value: account }]);
  });
});
