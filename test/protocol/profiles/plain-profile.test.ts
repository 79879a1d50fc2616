import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { buildPlist, type PlistInput } from '../../../src/protocol/plist/plist.js';
import { isPlainProfile } from '../../../src/protocol/profiles/plain-profile.js';
import { rsaIdentity } from '../../crypto/identities.js';

type Fields = { [key: string]: PlistInput };

const COMMON = { PayloadIdentifier: 'com.example.a', PayloadUUID: 'A', PayloadVersion: 1 };

function file(payload: Fields, top: Fields = {}): Buffer {
  const PayloadContent = [{ ...COMMON, ...payload }];
  return buildPlist({ ...COMMON, PayloadType: 'Configuration', ...top, PayloadContent });
}

const CLIP = {
  PayloadType: 'com.apple.webClip.managed',
  URL: 'https://example.com/board',
  Label: 'Board',
  Icon: Buffer.alloc(100, 7),
};
const TCC_IDENTITY = {
  Identifier: 'com.example.agent',
  IdentifierType: 'bundleID',
  CodeRequirement: 'anchor apple generic',
};
const tcc = (Authorization: string) => ({
  PayloadType: 'com.apple.TCC.configuration-profile-policy',
  Services: { SystemPolicyAllFiles: [{ ...TCC_IDENTITY, Authorization }] },
});

describe('a profile is plain', () => {
  it.each<[string, Fields, Fields?]>([
    ['with a web clip and its icon', CLIP],
    [
      'with restrictions, whose names speak of passwords',
      {
        PayloadType: 'com.apple.applicationaccess',
        allowPasswordAutoFill: false,
        allowPasscodeModification: false,
      },
    ],
    ['with a value that Apple lists for a key that looks secret', tcc('Allow')],
    [
      'with extensions by team',
      {
        PayloadType: 'com.apple.system-extension-policy',
        AllowedSystemExtensions: { ABCDE12345: ['com.example.filter'] },
      },
    ],
    ['with a font', { PayloadType: 'com.apple.font', Font: Buffer.alloc(9) }],
    ['with a consent text', CLIP, { ConsentText: { en: 'I agree', de: 'Ja' } }],
    [
      'with a network without a password',
      {
        PayloadType: 'com.apple.wifi.managed',
        SSID_STR: 'Guests',
        AutoJoin: true,
      },
    ],
  ])('%s', (_name, ...[payload, top]) => {
    expect(isPlainProfile(file(payload, top))).toBe(true);
  });

  it('without payloads, or with several plain ones', () => {
    const several = {
      PayloadContent: [
        { ...COMMON, ...CLIP },
        { ...COMMON, ...tcc('Deny') },
      ],
    };
    for (const content of [{ PayloadContent: [] }, several]) {
      const top = { ...COMMON, PayloadType: 'Configuration', ...content };
      expect(isPlainProfile(buildPlist(top))).toBe(true);
    }
  });

  it('with the certificate of a CA', async () => {
    const { der } = (await rsaIdentity()).certificate;
    const root = { PayloadType: 'com.apple.security.root', PayloadContent: der };
    expect(isPlainProfile(file(root))).toBe(true);
  });

  it('also when it is signed', async () => {
    const signer = await rsaIdentity();
    const signed = (payload: Fields) => buildSignedData({ content: file(payload), signer });
    expect(isPlainProfile(signed(CLIP))).toBe(true);
    expect(isPlainProfile(signed({ ...CLIP, Password: 'x' }))).toBe(false);
  });
});

describe('a profile is not plain', () => {
  const wifi = { PayloadType: 'com.apple.wifi.managed', SSID_STR: 'Office' };
  it.each<[string, Fields, Fields?]>([
    ['with a password', { ...wifi, Password: 'x' }],
    ['with a password further down', { ...wifi, EAPClientConfiguration: { UserPassword: 'x' } }],
    ['with a key that Apple does not list', { ...CLIP, Remark: 'x' }],
    ['with a payload that Apple does not list', { PayloadType: 'com.example.own', Url: 'x' }],
    [
      'with settings of any application',
      {
        PayloadType: 'com.apple.ManagedClient.preferences',
        PayloadContent: {
          'com.example.agent': { Forced: [{ mcx_preference_settings: { license: 'x' } }] },
        },
      },
    ],
    [
      'with any text where any value may stand',
      {
        PayloadType: 'com.apple.webcontent-filter',
        VendorConfig: { customer: 'x' },
      },
    ],
    ['with a value that Apple does not list for a key that looks secret', tcc('x')],
    [
      'with a private key and its certificate',
      {
        PayloadType: 'com.apple.security.pkcs12',
        PayloadContent: Buffer.alloc(9),
      },
    ],
    [
      'with other data in the place of a certificate',
      {
        PayloadType: 'com.apple.security.root',
        PayloadContent: Buffer.from('-----BEGIN PRIVATE KEY-----'),
      },
    ],
    [
      'with a SCEP payload',
      {
        PayloadType: 'com.apple.security.scep',
        PayloadContent: { URL: 'https://x.example/scep' },
      },
    ],
    ['with the enrollment', { PayloadType: 'com.apple.mdm', Topic: 'x' }],
    ['with declarations', { PayloadType: 'com.apple.declarations', Declarations: [Buffer.of(1)] }],
    ['with a user name in a URL', { ...CLIP, URL: 'https://user:word@example.com/' }],
    ['with a query in a URL', { ...CLIP, URL: 'https://example.com/?t=1234' }],
    [
      'with the header of a request',
      {
        PayloadType: 'com.apple.relay.managed',
        Relays: [{ AdditionalHTTPHeaderFields: { 'X-Client': 'x' } }],
      },
    ],
    ['with an unknown key around the payloads', CLIP, { Notes: 'x' }],
    ['with encrypted content', CLIP, { EncryptedPayloadContent: Buffer.of(1) }],
    ['with a payload without a type', { Label: 'x' }],
  ])('%s', (_name, ...[payload, top]) => {
    expect(isPlainProfile(file(payload, top))).toBe(false);
  });

  const plain = file(CLIP).toString();
  it.each<[string, string | Buffer]>([
    ['with a comment', plain.replace('<dict>', '<!-- the password is x --><dict>')],
    ['with a comment after its end', `${plain}<!-- x -->`],
    ['with an attribute', plain.replace('<plist version="1.0">', '<plist version="1.0" a="x">')],
    ['with a doctype of its own', plain.replace(/<!DOCTYPE[^>]*>/, '<!DOCTYPE plist SYSTEM "x">')],
    ['with one key twice', plain.replace('<key>Label</key>', '<key>URL</key>')],
    ['in the binary form', Buffer.from('bplist00')],
    ['that is no property list', 'x'],
    ['that is empty', Buffer.alloc(0)],
    ['that is no dictionary', buildPlist(['x'])],
    ['that is encrypted or broken CMS', Buffer.from([0x30, 0x03, 1, 2, 3])],
    ['above 512 KB', file({ ...CLIP, Icon: Buffer.alloc(400 * 1024) })],
  ])('%s', (_name, bytes) => {
    expect(isPlainProfile(Buffer.from(bytes))).toBe(false);
  });
});
