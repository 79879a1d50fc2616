import { Agent } from 'node:http';
import request from 'supertest';
import type { Attribute } from '../../src/jsonapi/definition/attributes.js';
import type { ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';
import type { Resource } from './expectations.js';
import { seedBatches } from './sample-batches.js';
import { seedDepDevices } from './sample-dep-devices.js';
import { seedAssignments, seedDeviceItems, seedRollouts } from './sample-device-items.js';
import { seedJobs } from './sample-jobs.js';
import { seedSecrets } from './sample-secrets.js';
import { seedSessions } from './sample-sessions.js';
import { ownersOf, seed } from './samples.js';

export const MEDIA_TYPE = 'application/vnd.api+json';
export const ALL = DEFINITIONS as ResourceDefinition[];
/** A connection for each of thousands of requests would take as long as the requests. */
export const KEPT_OPEN = new Agent({ keepAlive: true });
export const NAMED = ALL.map((definition): [string, ResourceDefinition] => [
  definition.type,
  definition,
]);
/** Each of their documents needs an item and a target of its own: test/resources/assignments. */
export const TESTED_ALONE = ['assignments', 'rollouts'];
export const WRITABLE = NAMED.filter(
  ([type, { access }]) => access.create !== null && !TESTED_ALONE.includes(type),
);

/** The API over a database with a few rows of every type. */
export interface Fixture {
  api: TestApi;
  deviceId: number;
  get(path: string, query?: Record<string, string>): request.Test;
  listAll(definition: ResourceDefinition): Promise<Resource[]>;
}

export async function createFixture(): Promise<Fixture> {
  const api = await createTestApi();
  const devices = ALL.find(({ type }) => type === 'devices');
  if (!devices) throw new Error('no devices');
  await seed(api, devices, 0);
  const deviceId = Number((await api.knex('devices').min('id as id').first())?.id);
  // audit_events is append-only and fills by itself.
  const apart = ['devices', 'audit_events', 'jobs', 'device_secrets', 'sessions', 'tokens'];
  const done = new Set(apart);
  await seedJobs(api.knex);
  await seedSessions(api.knex);
  await seedSecrets(api.knex, deviceId);
  const seedAfterOwners = async (definition: ResourceDefinition): Promise<void> => {
    if (done.has(definition.type)) return;
    done.add(definition.type);
    for (const owner of ownersOf(definition)) await seedAfterOwners(owner);
    if (definition.type === 'dep_devices') await seedDepDevices(api.knex, deviceId);
    else if (definition.type === 'device_items') await seedDeviceItems(api.knex, deviceId);
    else if (definition.type === 'assignments') await seedAssignments(api.knex);
    else if (definition.type === 'command_batches') await seedBatches(api.knex);
    else if (definition.type === 'rollouts') await seedRollouts(api.knex);
    else await seed(api, definition, deviceId);
  };
  for (const definition of ALL) await seedAfterOwners(definition);
  const get: Fixture['get'] = (path, query = {}) =>
    request(api.app).get(`/api/v1${path}`).agent(KEPT_OPEN).query(query).set('Accept', MEDIA_TYPE);
  const listAll = async (definition: ResourceDefinition) => {
    const response = await get(definition.path, { 'page[size]': '1000' });
    expect(response.body).toMatchObject({ jsonapi: { version: '1.0' } });
    return response.body.data;
  };
  return { api, deviceId, get, listAll };
}

export function visible(
  { attributes }: ResourceDefinition,
  test: (attribute: Attribute) => boolean,
) {
  return Object.entries(attributes).filter(([, attribute]) => test(attribute));
}

/** The one resource of a document, also where the type always has an array. */
export function one({ body }: request.Response): Resource {
  return [body.data].flat()[0];
}
