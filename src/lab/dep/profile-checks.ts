import { DepRefusal } from './dep-refusal.js';
import type { ProfileDefinition } from './mdm-server.js';

interface TextRule {
  field: string;
  max: number;
  code: string;
  required?: string;
}

/** Apple's limits, in UTF-8 characters ("Define a Profile"). */
const TEXTS: TextRule[] = [
  {
    field: 'profile_name',
    max: 125,
    code: 'CONFIG_NAME_INVALID',
    required: 'CONFIG_NAME_REQUIRED',
  },
  {
    field: 'url',
    max: 2000,
    code: 'CONFIG_URL_INVALID',
    required: 'CONFIG_URL_REQUIRED',
  },
  { field: 'configuration_web_url', max: 2000, code: 'CONFIG_URL_INVALID' },
  { field: 'department', max: 125, code: 'DEPARTMENT_INVALID' },
  { field: 'org_magic', max: 256, code: 'MAGIC_INVALID' },
  { field: 'support_email_address', max: 250, code: 'SUPPORT_EMAIL_INVALID' },
  { field: 'support_phone_number', max: 50, code: 'SUPPORT_PHONE_INVALID' },
];

const FLAGS = [
  'allow_pairing',
  'auto_advance_setup',
  'await_device_configured',
  'is_mandatory',

  'is_mdm_removable',
  'is_multi_user',
  'is_supervised',
  'is_return_to_service',
  'do_not_use_profile_from_backup',
];

const LISTS = ['anchor_certs', 'devices', 'skip_setup_items', 'supervising_host_certs'];

const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** Checks a profile like Apple. Throws DepRefusal 400 with Apple's error code. */
export function checkProfile(profile: ProfileDefinition): void {
  for (const rule of TEXTS) checkText(profile, rule);
  checkUrl(profile.url);
  checkFlags(profile);
  checkLocale(profile);
  for (const list of LISTS) {
    if (profile[list] !== undefined) checkList(profile[list]);
  }
  checkCertificates(profile.anchor_certs);
  checkCertificates(profile.supervising_host_certs);
}

function checkText(profile: ProfileDefinition, { field, max, code, required }: TextRule): void {
  const value = profile[field];
  if (value === undefined || value === null) {
    if (required !== undefined) refuse(required);
    return;
  }
  if (typeof value !== 'string' || value === '' || [...value].length > max) refuse(code);
}

/** Devices use HTTPS only; http is allowed for the lab's loopback. */
function checkUrl(url: unknown): void {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  const isLoopback = /^(localhost|127\..*|\[::1\])$/.test(parsed?.hostname ?? '');
  const isFine = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback);
  if (!isFine) refuse('CONFIG_URL_INVALID');
}

function checkFlags(profile: ProfileDefinition): void {
  for (const flag of FLAGS) {
    const value = profile[flag];
    if (value !== undefined && typeof value !== 'boolean') refuse('MALFORMED_REQUEST_BODY');
  }
  const isSupervised = profile.is_supervised === true;
  if (profile.is_mdm_removable === false && !isSupervised) refuse('FLAGS_INVALID');
}

/** Each is checked by itself. */
function checkLocale({ language, region }: ProfileDefinition): void {
  if (language !== undefined && !/^[a-z]{2,3}(-[A-Za-z]{2,8})*$/.test(String(language))) {
    refuse('LOCALE_INVALID');
  }
  if (region !== undefined && !/^[A-Z]{2}$/.test(String(region))) refuse('LOCALE_INVALID');
}

function checkList(value: unknown): void {
  const isFine = Array.isArray(value) && value.every((item) => typeof item === 'string');
  if (!isFine) refuse('MALFORMED_REQUEST_BODY');
}

function checkCertificates(value: unknown): void {
  const texts = Array.isArray(value) ? value : [];
  if (!texts.every((text) => BASE64.test(String(text)))) refuse('MALFORMED_REQUEST_BODY');
}

function refuse(code: string): never {
  throw new DepRefusal(400, code);
}
