import {
  checkPayload,
  checkProfileKeys,
  isKnownPayloadType,
  type PayloadFinding,
} from '../../../src/protocol/apple/profile-schema.js';
import { nodeToValue } from '../../../src/protocol/plist/plist.js';
import { dict, type Members, payload, profile, REALISTIC } from '../../profiles/sample-profiles.js';

function check(type: string, members: Members): PayloadFinding[] {
  return checkPayload(type, nodeToValue(payload(type, members)));
}

function errors(findings: PayloadFinding[]): string[] {
  return findings.filter(({ isError }) => isError).map(({ pointer }) => pointer);
}

function warnings(findings: PayloadFinding[]): string[] {
  return findings.filter(({ isError }) => !isError).map(({ pointer }) => pointer);
}

const WIFI = 'com.apple.wifi.managed';

describe("Apple's schema of profiles", () => {
  it('finds wrong types, values and ranges, each with its place', () => {
    expect(
      check(WIFI, {
        SSID_STR: 1n,
        EncryptionType: 'WPA9',
        AutoJoin: 'yes',
        ProxyServerPort: 70000n,
      }),
    ).toEqual([
      { pointer: '/SSID_STR', detail: 'SSID_STR must be a string', isError: true },
      {
        pointer: '/EncryptionType',
        detail: expect.stringContaining('EncryptionType must be one of WEP, WPA'),
        isError: true,
      },
      { pointer: '/AutoJoin', detail: 'AutoJoin must be a boolean', isError: true },
      {
        pointer: '/ProxyServerPort',
        detail: 'ProxyServerPort must be 0 to 65535',
        isError: true,
      },
    ]);
    const nested = dict({ AcceptEAPTypes: ['13'], TLSMinimumVersion: '9' });
    expect(errors(check(WIFI, { EAPClientConfiguration: nested }))).toEqual([
      '/EAPClientConfiguration/AcceptEAPTypes/0',
      '/EAPClientConfiguration/TLSMinimumVersion',
    ]);
  });

  it('finds a missing key that a payload needs', () => {
    expect(check('com.apple.webClip.managed', { Label: 'x' })).toEqual([
      { pointer: '/URL', detail: 'URL is required', isError: true },
    ]);
    expect(errors(check('com.apple.security.pkcs12', {}))).toEqual(['/PayloadContent']);
    const bare = nodeToValue(dict({ PayloadType: WIFI }));
    expect(errors(checkPayload(WIFI, bare))).toEqual([
      '/PayloadIdentifier',
      '/PayloadUUID',
      '/PayloadVersion',
    ]);
  });

  it('only warns of a flag written the other way', () => {
    const findings = check(WIFI, { AutoJoin: 1n, HIDDEN_NETWORK: 2n, ProxyServerPort: true });
    expect(errors(findings)).toEqual(['/HIDDEN_NETWORK']);
    expect(warnings(findings)).toEqual(['/AutoJoin', '/ProxyServerPort']);
  });

  it('only warns of unknown keys, of formats, and of what is required further down', () => {
    const findings = check('com.apple.mdm', {
      IdentityCertificateUUID: 'scep',
      Topic: 'com.apple.mgmt.x',
      ServerURL: 'http://localhost:8080/mdm',
      NewKey: true,
    });
    expect(errors(findings)).toEqual([]);
    expect(warnings(findings)).toEqual(['/IdentityCertificateUUID', '/ServerURL', '/NewKey']);
    const anchors = [dict({ Identifier: 'com.example.app' })];
    const policy = check('com.apple.TCC.configuration-profile-policy', {
      Services: dict({ Camera: anchors }),
    });
    expect(errors(policy)).toEqual([]);
    expect(warnings(policy)).toContain('/Services/Camera/0/CodeRequirement');
  });

  it('uses the kind that fits best where several share a type', () => {
    expect(errors(check('com.apple.MCX', { DisableGuestAccount: 'x' }))).toEqual([]);
    expect(check('com.apple.extensiblesso', { ExtensionIdentifier: 'a' })).not.toEqual([]);
    expect(warnings(check('com.apple.MCX', { NoSuchKey: true }))).toEqual(['/NoSuchKey']);
  });

  it.each(REALISTIC)('finds no fault in %s', (_name, type, members) => {
    expect(isKnownPayloadType(type)).toBe(true);
    expect(errors(check(type, members))).toEqual([]);
  });

  it('ignores payload types it does not have', () => {
    for (const type of ['com.google.Chrome', 'TopLevel', 'CommonPayloadKeys', 'toString']) {
      expect(isKnownPayloadType(type)).toBe(false);
      expect(check(type, { anything: 1n })).toEqual([]);
    }
  });

  it('knows the keys around the payloads', () => {
    const keys = profile([], {
      PayloadScope: 'System',
      PayloadRemovalDisallowed: true,
      PayloadExpirationDate: new Date(0),
      DurationUntilRemoval: 3600n,
      ConsentText: dict({ default: 'Do you?', en: 'Do you?', de: 'Wollen Sie?' }),
      TargetDeviceType: 5n,
    });
    expect(checkProfileKeys(nodeToValue(keys))).toEqual([]);
    const wrong = profile([], { PayloadScope: 'Everyone', RemovalDate: 'soon', Colour: 'red' });
    expect(errors(checkProfileKeys(nodeToValue(wrong)))).toEqual(['/PayloadScope', '/RemovalDate']);
    expect(warnings(checkProfileKeys(nodeToValue(wrong)))).toEqual(['/Colour']);
  });
});
