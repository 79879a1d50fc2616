import type { Attribute } from '../../../jsonapi/definition/attributes.js';
import type { ResourceDefinition, View } from '../../../jsonapi/definition/definition.js';
import { SAMPLE_CERTIFICATES } from './sample-certificates.js';

/** Far away: an example that has passed would be refused. */
const TIME = '2099-03-26T23:42:09+00:00';
const SOME_UUID = '0b6b6a5e-4c33-4a3c-9a52-3d0c6f1f7c11';
const PURPOSE = 'mdm.webcrt';
const PEM = '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ…\n-----END CERTIFICATE-----\n';

/** What looks right where the kind alone does not decide. */
const BY_NAME: Record<string, unknown> = {
  udid: '00008103-001C25D40C63001E',
  serial_number: 'C02XK0AAJGH5',
  device_name: "Ada's MacBook Pro",
  hostname: 'ada-mbp.example.com',
  os_version: '15.4',
  build_version: '24E248',
  model: 'MacBookPro17,1',
  model_name: 'MacBook Pro',
  product_name: 'MacBookPro17,1',
  name: 'Sales',
  display_name: 'Example Notes',
  bundle_id: 'com.example.notes',
  bundle_identifier: 'com.example.notes',
  version: '2.1.0',
  color: '3366cc',
  description: 'Everything on the second floor',
  request_type: 'DeviceInformation',
  parameters: { Queries: ['OSVersion', 'DeviceName'] },
  subject: 'CN=mdm.example.com,O=Example',
  x509_cn: 'mdm.example.com',
  issuer: 'CN=Example CA',
  serial: '4d2',
  purpose: PURPOSE,
  pem_certificate: SAMPLE_CERTIFICATES[PURPOSE],
  pem_request: PEM.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST'),
  pem_private_key: PEM.replaceAll('CERTIFICATE', 'PRIVATE KEY'),
  fingerprint_sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  payload_identifier: 'com.example.wifi',
  payload_prefix: 'com.example',
  source_address: '192.0.2.7',
  org_email: 'it@example.com',
  server_uuid: '4B2E4D0F6C1A4A7E9D3B5C8F70A1E2D3',
  battery_level: 0.87,
  stages: [
    { percent: 5, soak_minutes: 60 },
    { percent: 100, soak_minutes: 60 },
  ],
  halt_at: { failures: 10, percent: 20 },
};

const TEXTS = (name: string) => [
  name.replaceAll('_', ' '),
  'https://example.com/item',
  'com.example.item',
  'it@example.com',
  '/devices?q=mini',
  'DE',
  '3366cc',
  'CN=mdm.example.com',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
  'd41d8cd98f00b204e9800998ecf8427e',
];

/** A valid value of the attribute, always the same. undefined where none is known. */
export function sampleValue(name: string, attribute: Attribute): unknown {
  const isAccepted = (value: unknown) => attribute.schema.safeParse(value).success;
  const named = Object.hasOwn(BY_NAME, name) ? [BY_NAME[name]] : [];
  return [...named, ...candidates(name, attribute)].find(isAccepted);
}

function candidates(name: string, { kind, values }: Attribute): unknown[] {
  switch (kind) {
    case 'text':
      return TEXTS(name);
    case 'enum':
      return [...(values ?? [])];
    case 'integer':
      return [3, 1, 0, 2048];
    case 'number':
      return [494.38];
    case 'boolean':
      return [true];
    case 'timestamp':
      return [TIME];
    case 'uuid':
      return [SOME_UUID];
    case 'json':
      return [{}, [], ['d41d8cd98f00b204e9800998ecf8427e']];
  }
}

const FEW = 5;

/** What examples of a body show beside what is required; the first few attributes elsewhere. */
const SHOWN_FIRST: Record<string, string[]> = {
  devices: ['udid', 'serial_number', 'device_name', 'platform', 'asset_tag'],
  commands: ['parameters'],
  certificates: ['pem_certificate'],
  certificate_signing_requests: ['subject', 'purpose'],
  rsa_private_keys: ['name'],
};

/** The attributes of an example of a create or an update; of a create in a view without its own. */
export function sampleAttributes(
  definition: ResourceDefinition,
  mode: 'create' | 'update',
  view?: View,
): Record<string, unknown> {
  const { attributes, type } = definition;
  const writable = Object.entries(attributes).filter(
    ([, { write }]) => write === 'always' || write === mode,
  );
  const names = writable.map(([name]) => name);
  const first = (SHOWN_FIRST[type] ?? names.slice(0, FEW)).filter((name) => names.includes(name));
  const chosen = writable.filter(
    ([name, { required }]) => first.includes(name) || (required && mode === 'create'),
  );
  const samples = (chosen.length > 0 ? chosen : writable.slice(0, 1)).map(
    ([name, attribute]) => [name, sampleValue(name, attribute)] as const,
  );
  const known = samples.filter(([name, value]) => value !== undefined && name !== view?.attribute);
  return { ...Object.fromEntries(known), ...certificateFor(known, view) };
}

function certificateFor(samples: (readonly [string, unknown])[], view?: View) {
  const pem_certificate = SAMPLE_CERTIFICATES[view?.value ?? ''];
  const hasOne = samples.some(([name]) => name === 'pem_certificate');
  return hasOne && pem_certificate !== undefined ? { pem_certificate } : {};
}
