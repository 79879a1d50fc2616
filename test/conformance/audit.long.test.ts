import request from 'supertest';
import type { Relationship, ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import type { TestApi } from '../jsonapi/test-api.js';
import type { Resource } from './expectations.js';
import {
  ALL,
  createFixture,
  type Fixture,
  MEDIA_TYPE,
  NAMED,
  one,
  TESTED_ALONE,
  WRITABLE,
} from './fixture.js';
import { sampleAttributes, sampleDocument, sampleValue } from './samples.js';

type Changes = Record<string, unknown>;

let fixture: Fixture;
let api: TestApi;
let deviceId: number;
beforeAll(async () => {
  fixture = await createFixture();
  ({ api, deviceId } = fixture);
});
afterAll(() => api.close());

/** The changes of the newest event, and its action. */
async function lastEvent(): Promise<{ action: string; changes: Changes; text: string }> {
  const { action, details } = await api.knex('audit_events').orderBy('id', 'desc').first();
  return { action, changes: details.changes, text: JSON.stringify(details) };
}

async function create(definition: ResourceDefinition, index: number): Promise<Resource> {
  const response = await request(api.app)
    .post(`/api/v1${definition.path}`)
    .set('Content-Type', MEDIA_TYPE)
    .send(JSON.stringify(sampleDocument(definition, index, deviceId)));
  expect([response.status, response.body.errors]).toEqual([201, undefined]);
  return one(response);
}

/** As it stands in the audit trail: long and binary values by their digest. */
function isValueOf(audited: unknown, shown: unknown): boolean {
  if (JSON.stringify(audited) === JSON.stringify(shown)) return true;
  return typeof audited === 'string' && /sha256:[0-9a-f]{64}/.test(audited);
}

describe.each(WRITABLE)('the audit event of a created one of %s', (type, definition) => {
  it('has every value that was sent, and of secrets that they were set', async () => {
    const shown = await create(definition, 19);
    const { action, changes } = await lastEvent();
    expect(action).toBe(`${type}.create`);
    for (const name of Object.keys(sampleAttributes(definition, 19))) {
      const { writeOnly, isCredential } = definition.attributes[name] ?? {};
      if (writeOnly || isCredential) expect([name, changes[name]]).toEqual([name, 'changed']);
      else {
        const [before, after] = changes[name] as unknown[];
        expect([name, before]).toEqual([name, null]);
        expect([name, isValueOf(after, shown.attributes[name])]).toEqual([name, true]);
      }
    }
    expect(Object.keys(changes).length).toBeGreaterThan(0);
  });
});

/** Where not every sample would be accepted. */
const OWN_CHANGES: Record<string, object> = {
  certificates: {},
  commands: { status: 'Cancelled', priority: 7 },
  devices: { asset_tag: 'A-21' },
  device_groups: { name: 'other', description: 'for others' },
};

const ALIKE = NAMED.filter(([type]) => !TESTED_ALONE.includes(type));
const UPDATED = ALIKE.filter(([, { access }]) => access.update !== null);

describe.each(UPDATED)('the audit event of a changed one of %s', (type, definition) => {
  it('has each changed attribute before and after, and no other', async () => {
    const before = definition.access.create
      ? await create(definition, 20)
      : ((await fixture.listAll(definition))[0] as Resource);
    const writable = Object.entries(definition.attributes).filter(
      ([, { write }]) => write === 'always',
    );
    const samples = writable.map(([name, attribute]) => [name, sampleValue(name, attribute, 21)]);
    const attributes = OWN_CHANGES[type] ?? Object.fromEntries(samples);
    const response = await request(api.app)
      .patch(`/api/v1${definition.path}/${before.id}`)
      .send({ data: { type, attributes } });
    expect([response.status, response.body.errors]).toEqual([200, undefined]);
    const { action, changes } = await lastEvent();
    expect(action).toBe(`${type}.update`);
    const after = one(await fixture.get(`${definition.path}/${before.id}`));
    for (const name of Object.keys(attributes)) {
      const values = [before.attributes[name], after.attributes[name]];
      const isSame = JSON.stringify(values[0]) === JSON.stringify(values[1]);
      const { writeOnly, isCredential } = definition.attributes[name] ?? {};
      if (writeOnly || isCredential) expect([name, changes[name]]).toEqual([name, 'changed']);
      else expect([name, changes[name]]).toEqual([name, isSame ? undefined : values]);
    }
  });
});

const DELETED = ALIKE.filter(([, { access }]) => access.delete !== null);

describe.each(DELETED)('the audit event of a deleted one of %s', (type, definition) => {
  it('has what was deleted', async () => {
    const made = definition.access.create ? [await create(definition, 5)] : [];
    expect(await deleteFirst(definition, [...made, ...(await fixture.listAll(definition))])).toBe(
      204,
    );
    const { action, changes } = await lastEvent();
    expect(action).toBe(`${type}.delete`);
    expect(Object.keys(changes).length).toBeGreaterThan(0);
    for (const [name, change] of Object.entries(changes)) {
      if (change === 'changed') continue;
      const [before, after] = change as unknown[];
      expect([name, after, before === null]).toEqual([name, null, false]);
    }
  });
});

/** Deletes the first row that may be deleted; the status of the last attempt. */
async function deleteFirst(definition: ResourceDefinition, rows: Resource[]): Promise<number> {
  let last = 0;
  for (const { id } of rows) {
    last = (await request(api.app).delete(`/api/v1${definition.path}/${id}`)).status;
    if (last === 204) break;
  }
  return last;
}

const RELATED = ALL.filter(({ type }) => !TESTED_ALONE.includes(type)).flatMap((definition) =>
  Object.entries(definition.relationships)
    .filter(([, { write }]) => write !== 'never' && write !== 'create')
    .filter(() => definition.access.update !== null)
    .map(([name, relation]): [string, string, ResourceDefinition, Relationship] => [
      ...([definition.type, name, definition, relation] as const),
    ]),
);

describe.each(RELATED)(
  'the audit event of %s whose %s change',
  (type, name, definition, relation) => {
    /** Rows of the other side, of which some can be linked. */
    async function candidates(): Promise<number[]> {
      const other = ALL.find((one) => one.type === relation.type);
      return (await fixture.listAll(other as ResourceDefinition)).map(({ id }) => id);
    }

    const linked = async (id: number) => {
      const { body } = await fixture.get(`${definition.path}/${id}/relationships/${name}`);
      return [body.data ?? []].flat().map((one: { id: number }) => one.id) as number[];
    };

    it('has the ids added and removed', async () => {
      const ids = await candidates();
      let checked = 0;
      for (const { id } of await fixture.listAll(definition)) {
        const before = await linked(id);
        for (const related of ids.filter(
          (one) => relation.kind === 'toMany' || one !== before[0],
        )) {
          const data = { type: relation.type, id: related };
          const { status } = await request(api.app)
            .patch(`/api/v1${definition.path}/${id}/relationships/${name}`)
            .send({ data: relation.kind === 'toMany' ? [data] : data });
          if (status !== 200) continue;
          const { changes } = await lastEvent();
          const removed = before.filter((one) => one !== related);
          const added = before.includes(related) ? [] : [related];
          expect(changes).toEqual(
            relation.kind === 'toMany'
              ? { [name]: { added, removed } }
              : expect.objectContaining({ [name]: [before[0] ?? null, related] }),
          );
          checked += 1;
          break;
        }
        if (checked > 0) break;
      }
      expect([
        type,
        name,
        checked > 0 || ids.length === 0 || CLOSED.has(`${type}.${name}`),
      ]).toEqual([...[type, name, true]]);
    });
  },
);

/** Relationships that the samples can't change: their rules need more than a sample has. */
const CLOSED = new Set(['certificates.rsa_private_key', 'dep_accounts.token_certificate']);
