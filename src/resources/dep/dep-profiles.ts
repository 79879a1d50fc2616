import { z } from 'zod';
import {
  bool,
  each,
  oneOf,
  text,
  textList,
  timestamp,
  url,
  uuid,
  version,
} from '../../jsonapi/definition/attributes.js';
import {
  defineResource,
  type RelateOperation,
  type ToMany,
} from '../../jsonapi/definition/definition.js';
import { adminWrites } from '../common.js';
import { createProfile, removeProfile, updateProfile } from './dep-profile-operations.js';
import type { DepServices } from './dep-profile-state.js';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Certificates as base64 of their DER. */
const certificates = textList({
  max: 50,
  item: z
    .string()
    .max(20_000)
    .regex(BASE64)
    .refine(isDer, { error: 'must be the base64 form of a DER certificate' }),
});

/** As devices compare it. */
const osVersion = version({
  max: 30,
  pattern: /^\d{1,5}(\.\d{1,5}){0,3}$/,
  like: 'a version like 17 or 17.4.1',
});

const FORCE =
  'Deletes it also while devices have it or it is a default: its devices get the default of their ' +
  'account, and where there is none, Apple sets them up unmanaged.';

type Relate = RelateOperation<DepServices>;

/** Devices that are to have the profile, whatever Apple has of it yet: see their `dep_devices`. */
const profileDevices: ToMany<DepServices> = {
  kind: 'toMany',
  type: 'devices',
  via: { foreignKey: 'dep_profile_id' },
  write: 'document',
  operations: { add: assignProfile, remove: unassignProfile },
};

/** DEP profiles, which a device fetches from Apple in Setup Assistant. */
export const depProfiles = defineResource<DepServices>({
  type: 'dep_profiles',
  path: '/dep/profiles',
  table: 'dep_profiles',
  access: adminWrites,
  attributes: {
    uuid: uuid({ write: 'never', volatile: true }),
    profile_name: text({ required: true, min: 1, max: 255 }),
    url: url(),
    ...each(bool({ nullable: false }), [
      'allow_pairing',
      'is_supervised',
      'is_multi_user',
      'is_mandatory',
      'await_device_configured',
      'is_mdm_removable',
      'auto_advance_setup',
    ]),
    ...each(text(), ['support_phone_number', 'support_email_address', 'org_magic', 'department']),
    ...each(certificates, ['anchor_certs', 'supervising_host_certs']),
    skip_setup_items: textList({ max: 200, item: z.string().min(1).max(100) }),
    ...each(text({ max: 100 }), ['language', 'region']),
    configuration_web_url: url(),
    minimum_ios_version: osVersion,
    minimum_macos_version: osVersion,
    last_upload_at: timestamp({ write: 'never', volatile: true }),
    status: oneOf(['local', 'pending', 'defined', 'failed'], { write: 'never', volatile: true }),
    ...each(text({ write: 'never', volatile: true }), ['status_text', 'status_advice']),
    status_at: timestamp({ write: 'never', volatile: true }),
    created_at: timestamp({ write: 'never' }),
  },
  defaults: {
    allow_pairing: true,
    is_supervised: false,
    is_multi_user: false,
    is_mandatory: false,
    await_device_configured: false,
    is_mdm_removable: true,
    auto_advance_setup: false,
  },
  relationships: {
    devices: profileDevices,
    dep_account: {
      kind: 'toOne',
      type: 'dep_accounts',
      column: 'dep_account_id',
      write: 'always',
    },
  },
  operations: { create: createProfile, update: updateProfile, delete: removeProfile },
  deleteFlags: { force: FORCE },
});

async function assignProfile({ trx, services, id, relatedIds, at, meta }: Relate): Promise<void> {
  const choice = { profileId: id, deviceIds: relatedIds, at };
  const warnings = await services.dep.assignProfile(trx, choice);
  if (warnings.length > 0) meta.warnings = warnings;
}

async function unassignProfile({ trx, services, id, relatedIds }: Relate): Promise<void> {
  await services.dep.unassignProfile(trx, { profileId: id, deviceIds: relatedIds });
}

/** One sequence that fills the bytes; more than 127 of them, so its length is in the long form. */
function isDer(base64: string): boolean {
  const der = Buffer.from(base64, 'base64');
  const octets = (der[1] ?? 0) - 0x80;
  if (der[0] !== 0x30 || octets < 1 || octets > 4 || der.length < 128) return false;
  return der.length === 2 + octets + der.readUIntBE(2, octets);
}
