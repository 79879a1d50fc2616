import request from 'supertest';
import { hasRole, ROLES, type Role } from '../../src/jsonapi/context.js';
import type { Relationship, ResourceDefinition } from '../../src/jsonapi/definition/definition.js';
import { ALL, createFixture, type Fixture } from './fixture.js';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.api.close());

const may = (role: Role, { access }: ResourceDefinition) =>
  hasRole({ name: 'tester', role }, access.read);

function relatedTo({ type }: Relationship): ResourceDefinition {
  const related = ALL.find((definition) => definition.type === type);
  if (related === undefined) throw new Error(`no ${type}`);
  return related;
}

const guarded = ALL.flatMap((definition) =>
  Object.entries(definition.relationships)
    .filter(([, relation]) => !may('viewer', definition) || !may('viewer', relatedTo(relation)))
    .map(([name, relation]): [string, string, ResourceDefinition, Relationship] => [
      definition.type,
      name,
      definition,
      relation,
    ]),
);

async function idOf({ path }: ResourceDefinition): Promise<number> {
  const { body } = await fixture.get(path, { 'page[size]': '1' });
  return body.data[0].id;
}

const getAs = (role: Role, path: string) =>
  request(fixture.api.app).get(`/api/v1${path}`).set('X-Role', role);

it('some relationships require a role', () => {
  const names = guarded.map(([type, name]) => `${type}.${name}`);
  expect(names).toEqual(
    expect.arrayContaining(['devices.secrets', 'devices.enrollment_link', 'enrollment_links.tags']),
  );
});

describe.each(guarded)('of %s the relationship %s', (_type, name, definition, relation) => {
  const related = relatedTo(relation);

  it.each(ROLES)(
    'shows a %s identifiers where both sides may be read, else nothing',
    async (role) => {
      const id = await idOf(definition);
      const expected = may(role, definition) && may(role, related) ? 200 : 403;
      const linkage = await getAs(role, `${definition.path}/${id}/relationships/${name}`);
      expect(linkage.status).toBe(expected);
      expect('data' in linkage.body).toBe(expected === 200);
      if (relation.kind === 'toOne') return;
      expect((await getAs(role, `${definition.path}/${id}/${name}`)).status).toBe(expected);
    },
  );

  it.each(ROLES)('is in documents for a %s who may read it, and in no others', async (role) => {
    if (!may(role, definition)) return;
    const id = await idOf(definition);
    const fields = `fields[${definition.type}]=${name}`;
    const paths = ['', `/${id}`].flatMap((end) => [`${end}?`, `${end}?${fields}`]);
    for (const path of paths) {
      const { status, body } = await getAs(role, `${definition.path}${path}`);
      const [first] = [body.data].flat();
      expect([status, name in (first.relationships ?? {})]).toEqual([200, may(role, related)]);
    }
    const include = await getAs(role, `${definition.path}/${id}?include=${name}`);
    expect(include.status).toBe(may(role, related) ? 200 : 400);
  });
});
