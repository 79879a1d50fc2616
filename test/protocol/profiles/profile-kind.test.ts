import { buildSignedData } from '../../../src/crypto/cms/cms-signed-data.js';
import { buildPlist, type PlistDict } from '../../../src/protocol/plist/plist.js';
import { profileFaults, readProfile } from '../../../src/protocol/profiles/profile-kind.js';
import { ecIdentity } from '../../crypto/identities.js';

const PROFILE = { PayloadType: 'Configuration', PayloadContent: [] };
const NO_PROFILE =
  'must be a configuration profile in base64: a property list whose PayloadType is Configuration, or a ' +
  'signed or encrypted one';
const UUID = '6D4B1C2A-7F0E-4D57-9C55-0A8E1D2F3B4C';
const cms = (type: string) => Buffer.from(`3082100006092a864886f70d0107${type}a0821000`, 'hex');
const large = Buffer.alloc(100_000, ' ');

describe('a configuration profile', () => {
  it.each<[string, Buffer]>([
    ['an XML property list', buildPlist(PROFILE)],
    ['a large one', buildPlist({ ...PROFILE, Data: large })],
    ['a signed one', cms('02')],
    ['an encrypted one', cms('03')],
    ['a signed one of indefinite length', Buffer.from('308006092a864886f70d010702a080', 'hex')],
  ])('is %s', (_name, bytes) => {
    expect(readProfile(bytes).fault).toBeUndefined();
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('hello')],
    ['an empty property list', Buffer.from('<plist/>')],
    ['a single payload', buildPlist({ PayloadType: 'com.apple.wifi.managed' })],
    ['a large property list of another kind', buildPlist({ Data: large })],
    ['another CMS type', cms('01')],
    ['DER of something else', Buffer.from('3003020105', 'hex')],
  ])('is not %s', (_name, bytes) => {
    expect(readProfile(bytes).fault).toBe(NO_PROFILE);
    expect(profileFaults(bytes)).toEqual([{ pointer: '', detail: NO_PROFILE }]);
  });
});

describe('the faults of a profile', () => {
  const named = { PayloadVersion: 1, PayloadIdentifier: 'com.example.wifi', PayloadUUID: UUID };
  const faultsOf = (keys: PlistDict) =>
    profileFaults(buildPlist({ ...PROFILE, ...named, ...keys })).map(({ pointer }) => pointer);

  it('are those of an upload', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ PayloadIdentifier: 5 })).toEqual(['/PayloadIdentifier']);
    expect(faultsOf({ PayloadContent: 'x' })).toEqual(['/PayloadContent']);
    const font = { ...named, PayloadType: 'com.apple.font', Font: Buffer.from('font') };
    expect(faultsOf({ PayloadContent: [font] })).toEqual([]);
    const { PayloadUUID: _, ...unnamed } = font;
    expect(faultsOf({ PayloadContent: [unnamed] })).toEqual(['/PayloadContent/0/PayloadUUID']);
  });

  it('are none where the profile can not be read', () => {
    expect(profileFaults(cms('02'))).toEqual([]);
    expect(profileFaults(cms('03'))).toEqual([]);
    expect(profileFaults(buildPlist({ ...PROFILE, Data: large }))).toEqual([]);
    const encrypted = { PayloadType: 'Configuration', EncryptedPayloadContent: Buffer.from('x') };
    expect(profileFaults(buildPlist(encrypted))).toEqual([]);
  });

  it('are found in a signed one', async () => {
    const signer = await ecIdentity('P-256');
    const signed = (keys: PlistDict) =>
      buildSignedData({ content: buildPlist({ ...PROFILE, ...named, ...keys }), signer });
    expect(profileFaults(signed({}))).toEqual([]);
    expect(profileFaults(signed({ PayloadIdentifier: 5 }))).toMatchObject([
      { pointer: '/PayloadIdentifier' },
    ]);
  });
});
