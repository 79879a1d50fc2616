import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import request from 'supertest';
import type { Attribute } from '../../src/jsonapi/attributes.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition.js';
import type { TestApi } from '../jsonapi/test-api.js';

export const ROWS = 5;

/** The row that has no value wherever none is needed. */
export const EMPTY_ROW = 2;

type Values = Record<string, unknown>;

const TEXTS = [
  (name: string, index: number) => `${name} 10%_${index}`,
  (_name: string, index: number) => `${index}`.padStart(6, 'a'),
  (_name: string, index: number) => `${index}`.padStart(64, 'a'),
];

/** A value that the attribute's schema takes, another for each index but for booleans and enums. */
export function sampleValue(name: string, attribute: Attribute, index: number): unknown {
  switch (attribute.kind) {
    case 'text':
      return TEXTS.map((make) => make(name, index)).find(
        (text) => attribute.schema.safeParse(text).success,
      );
    case 'enum':
      return attribute.values?.[index % attribute.values.length];
    case 'integer':
      return 10 + index;
    case 'number':
      return index + 0.5;
    case 'boolean':
      return index % 2 === 0;
    case 'timestamp':
      return `2026-03-${index + 10}T23:42:09.${index}5+02:00`;
    case 'uuid':
      return `${10_000_000 + index}-0000-4000-8000-000000000000`;
    case 'json':
      return [{ index }, 'text', null];
  }
}

/** What POST takes for this type. */
export function sampleAttributes(definition: ResourceDefinition, index: number): Values {
  if (definition.type === 'commands') {
    return {
      request_type: 'DeviceInformation',
      parameters: { Queries: ['UDID'] },
      priority: index,
    };
  }
  const writable = Object.entries(definition.attributes).filter(([, attribute]) => {
    return attribute.write === 'always' || attribute.write === 'create';
  });
  return Object.fromEntries(
    writable.map(([name, attribute]) => [name, sampleValue(name, attribute, index)]),
  );
}

export function sampleDocument(definition: ResourceDefinition, index: number, deviceId: number) {
  const { type, relationships } = definition;
  const device = { data: { type: 'devices', id: deviceId } };
  const attributes = sampleAttributes(definition, index);
  return { data: { type, attributes, ...(relationships.device && { relationships: { device } }) } };
}

async function nullableColumns(knex: Knex, table: string): Promise<Set<string>> {
  const rows = await knex('information_schema.columns')
    .select('column_name')
    .where({ table_name: table, is_nullable: 'YES' });
  return new Set(rows.map((row) => String(row.column_name)));
}

async function insertedId(api: TestApi, definition: ResourceDefinition, deviceId: number) {
  if (definition.access.create === null) return undefined;
  const document = sampleDocument(definition, Math.trunc(Math.random() * 1e9), deviceId);
  const { type } = definition;
  if (type === 'devices') document.data.attributes = { udid: randomUUID() };
  if (type === 'tags') document.data.attributes = { name: randomUUID() };
  if (type !== 'devices' && type !== 'tags' && type !== 'commands') document.data.attributes = {};
  const response = await request(api.app).post(`/api/v1${definition.path}`).send(document);
  if (response.status !== 201) throw new Error(`${type}: ${JSON.stringify(response.body)}`);
  return Number(response.body.data.id);
}

/** One row of each type's table with a sample in every column, however it gets there. */
export async function seed(api: TestApi, definition: ResourceDefinition, deviceId: number) {
  const nullable = await nullableColumns(api.knex, definition.table);
  for (let index = 0; index < ROWS; index += 1) {
    const id = await insertedId(api, definition, deviceId);
    const stored = Object.entries(definition.attributes).filter(
      ([, { derivedFrom }]) => !derivedFrom,
    );
    const values = Object.fromEntries(
      stored.map(([name, attribute]) => {
        const value = sampleValue(name, attribute, index);
        const isNull = index === EMPTY_ROW && nullable.has(name);
        return [name, isNull ? null : attribute.kind === 'json' ? JSON.stringify(value) : value];
      }),
    );
    if (definition.type === 'commands') delete values.uuid;
    if (id === undefined) await api.knex(definition.table).insert(values);
    else await api.knex(definition.table).where({ id }).update(values);
  }
}
