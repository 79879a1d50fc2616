import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { isConfigurationProfile } from '../../../src/protocol/profiles/profile-kind.js';

const PROFILE = { PayloadType: 'Configuration', PayloadContent: [] };
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
    expect(isConfigurationProfile(bytes)).toBe(true);
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
    expect(isConfigurationProfile(bytes)).toBe(false);
  });
});
