import { z } from 'zod';
import { type Attribute, bool, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import type { SingletonDefinition } from '../../jsonapi/operations/singleton.js';
import { adminSettings } from '../common.js';

const LABEL = 'return_to_service_settings';
const PROFILES = ['wifi_profile', 'mdm_profile'] as const;
/** Base64 characters: profiles of up to 150 KB. */
const MAX_PROFILE = 200_000;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** XML and binary property lists, and DER of a signed one. */
const BEGINNINGS = ['<?xml', '<plist', 'bplist00', '\u0030\u0082', '\u0030\u0080', '\u0030\u0083'];

const NO_PROFILE =
  'must be a configuration profile in base64 (openssl base64 -A -in FILE.mobileconfig makes it)';

/** Base64 of a configuration profile. */
function profile(sealed: string): Attribute {
  const own = text({ writeOnly: true, derivedFrom: [sealed], min: 1, max: MAX_PROFILE });
  return { ...own, schema: own.schema.pipe(z.string().refine(isProfile, { error: NO_PROFILE })) };
}

function isProfile(base64: string): boolean {
  if (!BASE64.test(base64)) return false;
  const start = Buffer.from(base64.slice(0, 32), 'base64').toString('latin1');
  return BEGINNINGS.some((beginning) => start.trimStart().startsWith(beginning));
}

export interface SealingServices {
  /** `seal`: encrypts a secret for the place that the label names. */
  secrets: { seal(secret: string, label: string): Buffer };
}

const flag = bool({ nullable: false });

/** How devices come back that are erased to return to service. */
export const returnToService: SingletonDefinition<SealingServices> = {
  ...defineResource<SealingServices>({
    type: 'return_to_service_settings',
    path: '/configuration/return_to_service',
    table: 'return_to_service_settings',
    access: adminSettings,
    attributes: {
      enabled: flag,
      applies_to_erase: flag,
      wifi_profile: profile('sealed_wifi_profile'),
      mdm_profile: profile('sealed_mdm_profile'),
      has_wifi_profile: bool({ write: 'never', derivedFrom: ['sealed_wifi_profile'] }),
      has_mdm_profile: bool({ write: 'never', derivedFrom: ['sealed_mdm_profile'] }),
      send_bootstrap_token: flag,
      should_retry_enrollment: flag,
      preserve_data_plan: flag,
      updated_at: timestamp({ write: 'never' }),
    },
    relationships: {},
    derive: (name, row) => row[name.replace('has_', 'sealed_')] !== null,
  }),
  columnsOf: (attributes, { secrets }) => {
    const columns: Record<string, unknown> = { ...attributes };
    for (const name of PROFILES) {
      const given = columns[name];
      delete columns[name];
      if (given === undefined) continue;
      const isText = typeof given === 'string';
      columns[`sealed_${name}`] = isText ? secrets.seal(given, `${LABEL}/${name}`) : null;
    }
    return columns;
  },
};
