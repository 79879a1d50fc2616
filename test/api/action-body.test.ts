import { Ajv2020 } from 'ajv/dist/2020.js';
import { ADMIN_TOKEN, startApp, type TestApp } from '../helpers/app.js';

type Schema = Record<string, unknown>;

function closed(properties: Schema, required: string[] = []): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function inDocument(attributes: Schema, data: Schema = {}, required: string[] = []): Schema {
  const properties = { ...data, attributes };
  const document = { type: 'object', properties, required };
  return { type: 'object', properties: { data: document }, required: ['data'] };
}

function typed(attributes: Schema, type: string): Schema {
  return inDocument(attributes, { type: { type: 'string', enum: [type] } }, ['type']);
}

const KEY_SIZE = closed({ key_size: { type: 'integer', enum: [2048, 3072, 4096] } });
const REASON = closed({
  reason: {
    type: 'string',
    enum: [
      'unspecified',
      'keyCompromise',
      'cACompromise',
      'affiliationChanged',
      'superseded',
      'cessationOfOperation',
      'privilegeWithdrawn',
    ],
  },
});
const TEST = closed({
  request_type: { type: 'string', maxLength: 100 },
  parameters: { type: 'object', additionalProperties: true },
});
const SERIAL = { type: 'string', minLength: 1, maxLength: 64 };
const DISOWN = closed(
  {
    serial_numbers: { type: 'array', items: SERIAL, minItems: 1, maxItems: 1_000 },
    confirm: { type: 'string', maxLength: 200 },
  },
  ['serial_numbers', 'confirm'],
);
const LOCK = closed({ lost_message: { type: 'string', maxLength: 1_000 } });

/** The bodies of the actions as they were once written by hand, by the name of their operation. */
const BY_HAND: Record<string, Schema> = {
  rotateCaCertificate: { anyOf: [KEY_SIZE, inDocument(KEY_SIZE)] },
  revokeCertificate: { anyOf: [REASON, typed(REASON, 'certificates')] },
  queueTestCommand: { anyOf: [TEST, inDocument(TEST, {}, ['attributes'])] },
  disownDevices: { anyOf: [DISOWN, typed(DISOWN, 'dep_devices')] },
  lockActivation: { anyOf: [LOCK, typed(LOCK, 'dep_devices')] },
};

const ATTRIBUTES: unknown[] = [
  ...[{}, null, [], 'text', 7, { other: 1 }, { key_size: 2048 }, { key_size: 3072 }],
  ...[{ key_size: 1024 }, { key_size: 2048.5 }, { key_size: '2048' }, { key_size: null }],
  ...[{ reason: 'keyCompromise' }, { reason: 'removeFromCRL' }, { reason: 4 }],
  ...[{ request_type: 'DeviceLock' }, { request_type: 'x'.repeat(101) }, { request_type: 1 }],
  ...[{ parameters: {} }, { parameters: { PIN: '1', a: [1, null, { b: true }] } }],
  ...[{ parameters: [] }, { parameters: 'x' }, { request_type: 'A', parameters: { b: null } }],
  ...[
    { serial_numbers: ['A'], confirm: 'A' },
    { serial_numbers: [], confirm: '' },
  ],
  ...[{ serial_numbers: ['A'] }, { confirm: 'A' }, { serial_numbers: [''], confirm: 'A' }],
  ...[
    { serial_numbers: ['x'.repeat(65)], confirm: 'A' },
    { serial_numbers: 'A', confirm: 'A' },
  ],
  { serial_numbers: Array.from({ length: 1_001 }, String), confirm: 'A' },
  { serial_numbers: ['A'], confirm: 'x'.repeat(201) },
  ...[{ lost_message: 'Call us' }, { lost_message: 'x'.repeat(1_001) }, { lost_message: 0 }],
];

const BODIES = ATTRIBUTES.flatMap((attributes) => [
  attributes,
  { data: attributes },
  { data: { attributes } },
  ...['certificates', 'dep_devices', 'devices', 3].flatMap((type) => [
    { data: { type } },
    { data: { type, attributes } },
    { data: { type, attributes, id: 7 }, meta: {} },
  ]),
]);

let app: TestApp;
let ajv: Ajv2020;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const response = await fetch(`${app.url}/api/v1/openapi.json`, { headers });
  ajv = new Ajv2020({ strict: false, allowUnionTypes: true, validateFormats: false });
  ajv.addSchema((await response.json()) as Schema, 'api');
});
afterAll(() => app.stop());

describe('the body of an action', () => {
  it.each(Object.keys(BY_HAND))('%s is described as it was by hand', (operation) => {
    const byHand = ajv.compile(BY_HAND[operation] ?? {});
    const generated = ajv.compile({ $ref: `api#/components/schemas/${operation}_body` });
    const accepted = BODIES.filter((body) => byHand(body));
    expect(BODIES.filter((body) => generated(body))).toEqual(accepted);
    expect(accepted.length).toBeGreaterThan(1);
    expect(accepted.length).toBeLessThan(BODIES.length);
  });
});
