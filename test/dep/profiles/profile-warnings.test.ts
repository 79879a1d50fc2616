import type { DepProfile } from '../../../src/db/dep/dep-profile-repository.js';
import { profileWarnings } from '../../../src/dep/profiles/profile-warnings.js';
import { ENROLLMENT_URL, PLAIN } from './profile-samples.js';

const warningsOf = (changes: Partial<DepProfile>, own = ENROLLMENT_URL) =>
  profileWarnings({ ...PLAIN, ...changes }, own).map(({ pointer, detail }) => [
    pointer.replace('/data/attributes/', ''),
    detail,
  ]);

const LONG = 'x'.repeat(251);

describe('the warnings about a profile', () => {
  it.each<[string, Partial<DepProfile>, string[][]]>([
    ['a plain one', {}, []],
    [
      'MDM that stays, without supervision',
      { is_mdm_removable: false },
      [['is_mdm_removable', 'false requires is_supervised true: Apple refuses it (FLAGS_INVALID)']],
    ],
    ['MDM that stays', { is_mdm_removable: false, is_supervised: true }, []],
    [
      'Shared iPad without supervision',
      { is_multi_user: true },
      [['is_multi_user', 'Shared iPad requires is_supervised true']],
    ],
    [
      'a setup by itself in no language',
      { auto_advance_setup: true, language: 'en', region: '' },
      [
        [
          'auto_advance_setup',
          'Setup Assistant advances automatically only if language and region are set',
        ],
      ],
    ],
    ['a setup by itself', { auto_advance_setup: true, language: 'en', region: 'US' }, []],
    [
      'words for codes',
      { language: 'English', region: 'us' },
      [
        ['language', 'Apple accepts a code of ISO 639, like en'],
        ['region', 'Apple accepts a code of ISO 3166-1, like US'],
      ],
    ],
    ['codes', { language: 'zh-Hans', region: 'CN' }, []],
    ['a name as long as can be', { profile_name: 'x'.repeat(125) }, []],
    [
      'texts that are too long',
      {
        profile_name: LONG,
        department: LONG,
        support_phone_number: LONG,
        org_magic: `${LONG}xxxxx`,
      },
      [
        ['profile_name', 'Apple accepts at most 125 characters (CONFIG_NAME_INVALID)'],
        ['department', 'Apple accepts at most 125 characters (DEPARTMENT_INVALID)'],
        ['support_phone_number', 'Apple accepts at most 50 characters (SUPPORT_PHONE_INVALID)'],
      ],
    ],
    [
      'an address that is too long',
      { support_email_address: LONG, org_magic: `${LONG}xxxxxx` },
      [
        ['org_magic', 'Apple accepts at most 256 characters (MAGIC_INVALID)'],
        ['support_email_address', 'Apple accepts at most 250 characters (SUPPORT_EMAIL_INVALID)'],
      ],
    ],
    [
      'another server',
      { follows_public_url: false, url: 'http://other.example.com/enroll' },
      [
        ['url', 'Apple and real devices accept https URLs only'],
        [
          'url',
          'leads to another host than PUBLIC_URL: devices get no anchor certificates for it except ' +
            'those in anchor_certs',
        ],
      ],
    ],
    [
      'another server with anchors',
      { follows_public_url: false, url: 'https://other.example.com/', anchor_certs: [] },
      [],
    ],
    ['a former PUBLIC_URL', { url: 'http://before.example.com/dep/enroll' }, []],
    [
      'panes',
      { skip_setup_items: ['Siri', 'siri', 'TVRoom', 'constructor'] },
      [
        ['skip_setup_items/1', '"siri" is not a pane of Apple\'s schema; did you mean Siri?'],
        [
          'skip_setup_items/3',
          '"constructor" is not a pane of Apple\'s schema; ' + 'it is sent to Apple anyway',
        ],
      ],
    ],
  ])('fit %s', (_name, changes, expected) => {
    expect(warningsOf(changes)).toEqual(expected);
  });
});
