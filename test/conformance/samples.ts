import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import request from 'supertest';
import type { Attribute } from '../../src/jsonapi/definition/attributes.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import type { TestApi } from '../jsonapi/test-api.js';
import { sampleCertificate } from './sample-certificate.js';

export const ROWS = 5;

/** The row that has no value wherever none is needed. */
export const EMPTY_ROW = 2;

type Values = Record<string, unknown>;

type Sample = (name: string, index: number) => unknown;

/** True of one row at most. */
const ONE_ONLY = new Set(['issues_identities']);

/** Types of which a device has one row at most. */
const ONE_A_DEVICE = new Set(['device_locations', 'device_restrictions']);

/** The first that an attribute's schema accepts is its sample. */
const TEXTS: Sample[] = [
  (name, index) => `${name} 10%_${index}`,
  (_name, index) => `${index}`.padStart(6, 'a'),
  (_name, index) => `${index}`.padStart(64, 'a'),
  (_name, index) => `${index}`.padStart(32, 'A'),
  (name, index) => `https://example.com/10%25_/${name}?${index}`,
  (name, index) => `https://example.com/10%25_/${name}/${index}`,
  (name, index) => `${name}10%_${index}@example.com`,
  (_name, index) => `a${'abcdefghijklmnopqrstuvwxyz'[index % 26]}`,
  (_name, index) => `17.${index}`,
];
const INTEGERS: Sample[] = [(_name, index) => 10 + index, (_name, index) => index % 2];
const DOCUMENTS: Sample[] = [
  (_name, index) => [{ index }, 'text', null],
  (name, index) => [`${name} ${index}`],
  (_name, index) => [`${index}`.padStart(64, 'a')],
  (_name, index) => [{ name: 'serial_number', op: 'eq', val: `10%_${index}` }],
  (_name, index) => [Buffer.from([0x30, 0x81, 200, ...Array(200).fill(index)]).toString('base64')],
];

function firstValid(samples: Sample[], name: string, attribute: Attribute, index: number): unknown {
  const values = samples.map((make) => make(name, index));
  return values.find((value) => attribute.schema.safeParse(value).success);
}

/** A value that the attribute's schema accepts, another for each index but for booleans and enums. */
export function sampleValue(name: string, attribute: Attribute, index: number): unknown {
  switch (attribute.kind) {
    case 'text':
      return firstValid(TEXTS, name, attribute, index);
    case 'enum':
      return attribute.values?.[index % attribute.values.length];
    case 'integer':
      return firstValid(INTEGERS, name, attribute, index);
    case 'number':
      return index + 0.5;
    case 'boolean':
      return ONE_ONLY.has(name) ? index === 0 : index % 2 === 0;
    case 'timestamp':
      return `2126-03-${index + 10}T23:42:09.${index}5+02:00`;
    case 'uuid':
      return `${10_000_000 + index}-0000-4000-8000-000000000000`;
    case 'json':
      return firstValid(DOCUMENTS, name, attribute, index);
  }
}

/** Where attributes have to go together. */
const OWN_SAMPLES: Record<string, (index: number) => Values> = {
  commands: (index) => ({
    request_type: 'DeviceInformation',
    parameters: { Queries: ['UDID'] },
    priority: index,
  }),
  saved_views: (index) => ({ name: `name 10%_${index}`, path: `/devices?q=${index}` }),
  device_groups: (index) => ({
    name: `name 10%_${index}`,
    description: `description 10%_${index}`,
    kind: 'static',
  }),
  certificates: (index) => ({ pem_certificate: sampleCertificate(index), purpose: 'mdm.encrypt' }),
  certificate_signing_requests: (index) => ({
    subject: `CN=${index}`,
    purpose: 'mdm.webcrt',
    key_type: 'EC',
  }),
};

/** In place of samples that the answer would warn of. */
const HARMLESS: Record<string, Values> = {
  dep_profiles: { is_supervised: true, language: 'en', region: 'US', skip_setup_items: ['Siri'] },
};

/** What the server sets by itself when others are changed: a new token ends on another day. */
export const FOLLOWING: Record<string, string[]> = {
  custom_attributes: ['updated_at'],
  dep_accounts: ['access_token_expiry', 'status_at'],
  device_groups: ['updated_at'],
};

/** The body of POST for this type. */
export function sampleAttributes(definition: ResourceDefinition, index: number): Values {
  const own = OWN_SAMPLES[definition.type];
  if (own) return own(index);
  const writable = Object.entries(definition.attributes).filter(([, attribute]) => {
    return attribute.write === 'always' || attribute.write === 'create';
  });
  const samples = writable.map(([name, attribute]) => [name, sampleValue(name, attribute, index)]);
  return { ...Object.fromEntries(samples), ...HARMLESS[definition.type] };
}

export function sampleDocument(definition: ResourceDefinition, index: number, deviceId: number) {
  const { type, relationships } = definition;
  const device = { data: { type: 'devices', id: deviceId } };
  const attributes = sampleAttributes(definition, index);
  return { data: { type, attributes, relationships: relationships.device && { device } } };
}

export async function nullableColumns(knex: Knex, table: string): Promise<Set<string>> {
  const rows = await knex('information_schema.columns')
    .select('column_name')
    .where({ table_name: table, is_nullable: 'YES' });
  return new Set(rows.map((row) => String(row.column_name)));
}

/** Generated columns have no values of ours; what may not be null has some where a row is made. */
async function otherColumns(knex: Knex, table: string) {
  const rows = await knex('information_schema.columns')
    .select('column_name as name', 'is_generated', 'data_type', 'is_nullable')
    .where({ table_name: table });
  const generated = rows.filter(({ is_generated }) => is_generated === 'ALWAYS');
  const blobs = rows.filter(
    ({ data_type, is_nullable }) => data_type === 'bytea' && is_nullable === 'NO',
  );
  return {
    generated: generated.map(({ name }) => String(name)),
    blobs: Object.fromEntries(blobs.map(({ name }) => [name, Buffer.alloc(1)])),
  };
}

async function insertedId(api: TestApi, definition: ResourceDefinition, deviceId: number) {
  if (definition.access.create === null) return undefined;
  const document = sampleDocument(definition, Math.trunc(Math.random() * 1e9), deviceId);
  const { type, attributes, requiresOneOf = [] } = definition;
  const required = Object.keys(attributes).filter(
    (name) => attributes[name]?.required || requiresOneOf.includes(name),
  );
  if (OWN_SAMPLES[type] === undefined) {
    const given = document.data.attributes;
    const unique = (name: string) => {
      const uuid = randomUUID();
      return attributes[name]?.schema.safeParse(uuid).success ? uuid : given[name];
    };
    document.data.attributes = Object.fromEntries(required.map((name) => [name, unique(name)]));
  }
  const response = await request(api.app).post(`/api/v1${definition.path}`).send(document);
  if (response.status !== 201) throw new Error(`${type}: ${JSON.stringify(response.body)}`);
  return Number([response.body.data].flat()[0].id);
}

/** The types that a row of this one points to. */
export function ownersOf({ relationships }: ResourceDefinition): ResourceDefinition[] {
  const types = Object.values(relationships).flatMap((relation) =>
    relation.kind === 'toOne' ? [relation.type] : [],
  );
  return (DEFINITIONS as ResourceDefinition[]).filter(({ type }) => types.includes(type));
}

/** The ids that a row must have of its owners. */
async function ownerIds(knex: Knex, definition: ResourceDefinition, nullable: Set<string>) {
  const ids: Values = {};
  for (const relation of Object.values(definition.relationships)) {
    if (relation.kind !== 'toOne' || nullable.has(relation.column)) continue;
    const owner = ownersOf(definition).find(({ type }) => type === relation.type);
    ids[relation.column] = (
      await knex(owner?.table ?? '')
        .min('id as id')
        .first()
    )?.id;
  }
  return ids;
}

/** One row of each type's table with a sample in every column, however it gets there. */
export async function seed(api: TestApi, definition: ResourceDefinition, deviceId: number) {
  const nullable = await nullableColumns(api.knex, definition.table);
  const { generated, blobs } = await otherColumns(api.knex, definition.table);
  const owners = await ownerIds(api.knex, definition, nullable);
  const devices = await api.knex('devices').orderBy('id').pluck('id');
  const ownersOfRow = (index: number) =>
    ONE_A_DEVICE.has(definition.type) ? { device_id: devices[index] } : owners;
  for (let index = 0; index < ROWS; index += 1) {
    const id = await insertedId(api, definition, deviceId);
    const stored = Object.entries(definition.attributes).filter(
      ([name, { derivedFrom, onRequest }]) =>
        !derivedFrom && !onRequest && !generated.includes(name),
    );
    const values = Object.fromEntries(
      stored.map(([name, attribute]) => {
        const value = sampleValue(name, attribute, index);
        const isNull = index === EMPTY_ROW && nullable.has(name);
        return [name, isNull ? null : attribute.kind === 'json' ? JSON.stringify(value) : value];
      }),
    );
    if (definition.type === 'commands') delete values.uuid;
    if (values.kind === 'static') values.rule = null;
    if (id === undefined)
      await api.knex(definition.table).insert({ ...blobs, ...ownersOfRow(index), ...values });
    else await api.knex(definition.table).where({ id }).update(values);
  }
}
