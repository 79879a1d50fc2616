import type { DepProfile } from '../../db/dep/dep-profile-repository.js';
import type { Finding } from '../../errors.js';
import { skippablePane } from '../../protocol/apple/skip-keys.js';
import { hasSameOrigin } from './profile-definition.js';

type Attribute = keyof DepProfile;

/** Apple's maximum number of characters, and its error code for more. */
const LENGTHS: [attribute: Attribute, max: number, code: string][] = [
  ['profile_name', 125, 'CONFIG_NAME_INVALID'],
  ['department', 125, 'DEPARTMENT_INVALID'],
  ['org_magic', 256, 'MAGIC_INVALID'],
  ['support_phone_number', 50, 'SUPPORT_PHONE_INVALID'],
  ['support_email_address', 250, 'SUPPORT_EMAIL_INVALID'],
];

/** What Apple or devices may reject; the profile is stored anyway. */
export function profileWarnings(profile: DepProfile, enrollmentUrl: string): Finding[] {
  return [
    ...lengthWarnings(profile),
    ...flagWarnings(profile),
    ...localeWarnings(profile),
    ...urlWarnings(profile, enrollmentUrl),
    ...paneWarnings(profile.skip_setup_items ?? []),
  ];
}

function warn(attribute: Attribute, detail: string, below = ''): Finding {
  return { pointer: `/data/attributes/${attribute}${below}`, detail };
}

function lengthWarnings(profile: DepProfile): Finding[] {
  return LENGTHS.flatMap(([attribute, max, code]) => {
    const value = profile[attribute];
    if (typeof value !== 'string' || value.length <= max) return [];
    return [warn(attribute, `Apple accepts at most ${max} characters (${code})`)];
  });
}

function flagWarnings(profile: DepProfile): Finding[] {
  const { is_supervised, is_mdm_removable, is_multi_user, auto_advance_setup } = profile;
  const warnings: Finding[] = [];
  if (!is_mdm_removable && !is_supervised) {
    const detail = 'false requires is_supervised true: Apple refuses it (FLAGS_INVALID)';
    warnings.push(warn('is_mdm_removable', detail));
  }
  if (is_multi_user && !is_supervised) {
    warnings.push(warn('is_multi_user', 'Shared iPad requires is_supervised true'));
  }
  if (auto_advance_setup && !(profile.language && profile.region)) {
    const detail = 'Setup Assistant advances automatically only if language and region are set';
    warnings.push(warn('auto_advance_setup', detail));
  }
  return warnings;
}

function localeWarnings({ language, region }: DepProfile): Finding[] {
  const warnings: Finding[] = [];
  if (language && !/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(language)) {
    warnings.push(warn('language', 'Apple accepts a code of ISO 639, like en'));
  }
  if (region && !/^[A-Z]{2}$/.test(region)) {
    warnings.push(warn('region', 'Apple accepts a code of ISO 3166-1, like US'));
  }
  return warnings;
}

function urlWarnings(profile: DepProfile, own: string): Finding[] {
  const warnings: Finding[] = [];
  const url = profile.follows_public_url ? own : profile.url;
  if (!url.startsWith('https:')) {
    warnings.push(warn('url', 'Apple and real devices accept https URLs only'));
  }
  if (!hasSameOrigin(url, own) && profile.anchor_certs === null) {
    const detail =
      'leads to another host than PUBLIC_URL: devices get no anchor certificates for it except ' +
      'those in anchor_certs';
    warnings.push(warn('url', detail));
  }
  return warnings;
}

function paneWarnings(names: string[]): Finding[] {
  return names.flatMap((name, index) => {
    const known = skippablePane(name);
    if (known?.key === name) return [];
    const hint = known ? `; did you mean ${known.key}?` : '; it is sent to Apple anyway';
    const detail = `"${name}" is not a pane of Apple's schema${hint}`;
    return [warn('skip_setup_items', detail, `/${index}`)];
  });
}
