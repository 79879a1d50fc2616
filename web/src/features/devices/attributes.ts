// Imports with extensions: tests that run in Node read this file, too.
import { FACTS } from '../../api/facts.js';
import type { components } from '../../api/schema.js';
import { FINDINGS } from '../../text/findings.js';

export type Kind = 'text' | 'version' | 'time' | 'boolean' | 'choice' | 'number' | 'membership';

interface Attribute {
  kind: Kind;
  /** Pixels of its column. */
  width: number;
  values?: readonly string[];
}

type Name = keyof components['schemas']['devices_attributes'];

const BOOLEAN: Attribute = { kind: 'boolean', width: 110 };
const TIME: Attribute = { kind: 'time', width: 130 };

/** What the list can show in columns. */
export const ATTRIBUTES: Partial<Record<string, Attribute>> = {
  device_name: { kind: 'text', width: 190 },
  serial_number: { kind: 'text', width: 140 },
  health: { kind: 'choice', width: 135, values: ['ok', 'attention', 'stuck'] },
  platform: {
    kind: 'choice',
    width: 90,
    values: ['iOS', 'macOS', 'tvOS', 'visionOS', 'watchOS'],
  },
  os_version: { kind: 'version', width: 100 },
  build_version: { kind: 'version', width: 100 },
  model_name: { kind: 'text', width: 145 },
  product_name: { kind: 'text', width: 140 },
  last_seen: TIME,
  enrolled_at: TIME,
  last_push_at: TIME,
  enrollment_state: {
    kind: 'choice',
    width: 120,
    values: ['dep', 'authenticated', 'enrolled', 'unenrolled'],
  },
  enrollment_method: {
    kind: 'choice',
    width: 120,
    values: ['profile', 'ota', 'automated', 'account_user', 'account_device'],
  },
  push_state: {
    kind: 'choice',
    width: 120,
    values: ['ok', 'unregistered', 'bad_token', 'topic_mismatch'],
  },
  is_enrolled: BOOLEAN,
  is_supervised: BOOLEAN,
  is_dep: BOOLEAN,
  awaiting_configuration: BOOLEAN,
  passcode_present: BOOLEAN,
  fde_enabled: BOOLEAN,
  firewall_enabled: BOOLEAN,
  is_activation_lock_enabled: BOOLEAN,
  is_mdm_lost_mode_enabled: BOOLEAN,
  asset_tag: { kind: 'text', width: 120 },
  hostname: { kind: 'text', width: 180 },
  managed_apple_account: { kind: 'text', width: 200 },
  udid: { kind: 'text', width: 320 },
  wifi_mac: { kind: 'text', width: 150 },
  phone_number: { kind: 'text', width: 140 },
  imei: { kind: 'text', width: 160 },
} satisfies Partial<Record<Name, Attribute>>;

export const DEFAULT_COLUMNS = [
  ...['device_name', 'serial_number', 'health', 'platform', 'os_version', 'model_name'],
  'last_seen',
];

/** Of these a device has any number: the list filters by them and has no columns of them. */
export const MEMBERSHIPS = ['tags', 'device_groups', 'installed_applications', 'findings'];

export type Filter = Pick<Attribute, 'kind' | 'values'>;

/** Facts that change too often for rules of groups. */
const VOLATILE: Record<string, Filter> = {
  last_apns_id: { kind: 'text' },
  last_push_result: { kind: 'text' },
  failed_push_count: { kind: 'number' },
  available_device_capacity: { kind: 'number' },
  battery_level: { kind: 'number' },
  tokenupdate_at: { kind: 'time' },
};

const FILTER_KINDS: readonly string[] = ['text', 'version', 'time', 'boolean', 'choice', 'number'];

function isFilter([name, { kind }]: [string, { kind: string }]): boolean {
  return name !== 'id' && FILTER_KINDS.includes(kind);
}

/** Every fact that the API filters devices by. A test compares them with what the server knows. */
export const FILTERS: Partial<Record<string, Filter>> = {
  ...(Object.fromEntries(Object.entries(FACTS).filter(isFilter)) as Record<string, Filter>),
  ...VOLATILE,
  ...ATTRIBUTES,
  ...Object.fromEntries(MEMBERSHIPS.map((name) => [name, { kind: 'membership' } as const])),
  findings: { kind: 'membership', values: Object.keys(FINDINGS) },
};

export function kindOf(name: string): Kind {
  return FILTERS[name]?.kind ?? 'text';
}
