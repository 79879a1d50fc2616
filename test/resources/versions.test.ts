import request from 'supertest';
import { allRanges, rangesAfter, reversed, sortKeys } from '../../src/db/store/keyset.js';
import { rangeSql } from '../../src/db/store/list-query.js';
import {
  createRegistry,
  type ResourceDefinition,
} from '../../src/jsonapi/definition/definition.js';
import { parseCollectionQuery } from '../../src/jsonapi/query/query.js';
import type { ListQuery } from '../../src/jsonapi/store.js';
import { DEFINITIONS } from '../../src/resources/index.js';
import { createTestApi, type TestApi } from '../jsonapi/test-api.js';

let api: TestApi;

/** In the order of versions; the two in the middle are the same version. */
const SYSTEMS = ['9.3.5', '15.0', '15.0.0', '15.7.9', '15.7.10', '26.0'];
const BUILDS = ['13G36', '21A329', '21A5248v', '22F66', '22F66a', '22F5027f'];
const APPLICATIONS = ['', '1.2.3b4 (567)', '1.2.3', '1.2.10', '9', '10', 'nightly'];

beforeAll(async () => {
  api = await createTestApi();
  const devices = SYSTEMS.map((os_version, index) => ({
    udid: `v-${index}`,
    os_version,
    build_version: BUILDS[index],
    supplemental_build_version: BUILDS[5 - index],
  }));
  // Last first, so that the order of the ids helps nobody.
  const rows = await api
    .knex('devices')
    .insert([{}, ...devices.reverse()])
    .returning('id');
  const device_id = rows[0].id;
  const applications = APPLICATIONS.map((short_version) => ({
    device_id,
    bundle_identifier: 'com.example.app',
    short_version,
    version: short_version,
  }));
  const none = { device_id, bundle_identifier: 'com.example.app' };
  await api.knex('installed_applications').insert([none, ...applications.reverse()]);
});
afterAll(() => api.close());

async function valuesOf(
  path: string,
  name: string,
  query: Record<string, string>,
): Promise<unknown[]> {
  const { status, body } = await request(api.app).get(`/api/v1${path}`).query(query);
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data.map((row: { attributes: Record<string, unknown> }) => row.attributes[name]);
}

function filtered(op: string, val: unknown, name = 'os_version') {
  const filter = JSON.stringify([{ name, op, val }]);
  return valuesOf('/devices', name, { filter, sort: `${name},-id` });
}

/** All pages by cursor, two rows each, in the list's own order. */
async function walk(sort: string, parameter: 'page[after]' | 'page[before]'): Promise<unknown[]> {
  const pages: unknown[][] = [];
  const name = sort.replace('-', '');
  const query = new URLSearchParams({ sort, 'page[size]': '2', [parameter]: '' });
  for (let link: string | null = `/api/v1/devices?${query}`; link !== null; ) {
    const { body }: request.Response = await request(api.app).get(link);
    pages.push(body.data.map((row: { attributes: object }) => Object.entries(row.attributes)));
    link = parameter === 'page[after]' ? body.links.next : body.links.prev;
  }
  const rows = (parameter === 'page[after]' ? pages : pages.reverse()).flat();
  return rows.map((entries) => Object.fromEntries(entries as [string, unknown][])[name]);
}

describe('versions', () => {
  const cases: [path: string, name: string, values: string[]][] = [
    ['/devices', 'os_version', SYSTEMS],
    ['/devices', 'build_version', BUILDS],
    ['/devices', 'supplemental_build_version', BUILDS],
    ['/installed_applications', 'short_version', APPLICATIONS],
    ['/installed_applications', 'version', APPLICATIONS],
  ];

  it.each(cases)(
    'of %s sort by %s as versions, those without one last',
    async (path, name, all) => {
      const values = await valuesOf(path, name, { sort: `${name},-id` });
      expect(values).toEqual([...all, null]);
      const descending = await valuesOf(path, name, { sort: `-${name},id` });
      expect(descending).toEqual([...all].reverse().concat([null as never]));
    },
  );

  it.each(['os_version', '-os_version', 'build_version', '-build_version'])(
    'are paged by cursor in the order "%s", there and back',
    async (sort) => {
      const whole = await valuesOf('/devices', sort.replace('-', ''), { sort });
      expect(await walk(sort, 'page[after]')).toEqual(whole);
      expect(await walk(sort, 'page[before]')).toEqual(whole);
    },
  );

  it('are found by every comparison', async () => {
    expect(await filtered('lt', '15.7.10')).toEqual(SYSTEMS.slice(0, 4));
    expect(await filtered('le', '15.7.10')).toEqual(SYSTEMS.slice(0, 5));
    expect(await filtered('gt', '15')).toEqual(SYSTEMS.slice(3));
    expect(await filtered('ge', '15')).toEqual(SYSTEMS.slice(1));
    expect(await filtered('between', ['15', '15.7.9'])).toEqual(SYSTEMS.slice(1, 4));
    expect(await filtered('in_', ['26', '9.3.5.0'])).toEqual(['9.3.5', '26.0']);
    expect(await filtered('notin_', ['26', '9.3.5'])).toEqual([...SYSTEMS.slice(1, 5), null]);
    expect(await filtered('gt', '22A', 'build_version')).toEqual(BUILDS.slice(3));
    expect(await filtered('in_', ['22f66'], 'build_version')).toEqual(['22F66']);
  });

  it('are the same version with and without zeros at the end', async () => {
    expect(await filtered('eq', '15.0')).toEqual(['15.0', '15.0.0']);
    expect(await filtered('eq', '15')).toEqual(['15.0', '15.0.0']);
    expect(await filtered('ne', '15')).toEqual(['9.3.5', ...SYSTEMS.slice(3), null]);
    expect(await valuesOf('/devices', 'os_version', { 'filter[os_version]': '26' })).toEqual([
      '26.0',
    ]);
  });

  it('are compared as text by patterns', async () => {
    expect(await filtered('startswith', '15.0.')).toEqual(['15.0.0']);
    expect(await filtered('like', '%.10')).toEqual(['15.7.10']);
  });

  it('compare with other versions of the same row, and with nothing else', async () => {
    const rule = { name: 'build_version', op: 'gt', field: 'supplemental_build_version' };
    const query = { filter: JSON.stringify([rule]), sort: 'build_version' };
    expect(await valuesOf('/devices', 'build_version', query)).toEqual(BUILDS.slice(3));
    const filter = JSON.stringify([{ ...rule, field: 'model' }]);
    const refused = await request(api.app).get('/api/v1/devices').query({ filter });
    expect([refused.status, refused.body.errors[0].source]).toEqual([400, { parameter: 'filter' }]);
  });

  it('are compared across relationships', async () => {
    const { body } = await request(api.app)
      .get('/api/v1/devices')
      .query({
        filter: JSON.stringify([{ name: 'installed_applications__version', op: 'gt', val: '9.9' }]),
      });
    expect(body.data).toHaveLength(1);
  });
});

describe('the plan of a list by version', () => {
  const name = (n: string) => `(${n} / 400) || '.' || (${n} / 20 % 20) || '.' || ${n} % 20`;

  beforeAll(async () => {
    const { knex } = api;
    await knex.raw(
      `insert into devices (os_version, build_version)
       select case when n % 10 > 0 then ${name('n')} end, n % 30 || 'F' || n
       from generate_series(1, 8000) as n`,
    );
    await knex.raw(
      `insert into installed_applications (device_id, short_version, version)
       select 1, ${name('n')}, n from generate_series(1, 8000) as n`,
    );
    await knex.raw('analyze devices, installed_applications');
  });

  const definitions = DEFINITIONS as ResourceDefinition[];
  const context = {
    registry: createRegistry(definitions),
    actor: { name: 'tester', role: 'admin' } as const,
  };

  /** Of the first statement for the page, the part below the limit: above it one page is ordered. */
  async function planOf(path: string, parameters: Record<string, string>): Promise<string> {
    const definition = definitions.find((known) => known.path === path);
    if (definition === undefined) throw new Error(`no type at ${path}`);
    const query = parseCollectionQuery(new URLSearchParams(parameters), definition, context);
    const list: ListQuery = { ...query, shape: definition, columns: [] };
    const { direction, position } = query.keyset ?? {};
    const keys = direction === 'before' ? reversed(sortKeys(list)) : sortKeys(list);
    const [range = null] = position ? rangesAfter(keys, position) : allRanges(keys);
    const { text, bindings } = rangeSql(list, { keys, range, limit: 31 });
    const { rows } = await api.knex.raw(`explain ${text}`, bindings as string[]);
    const lines = rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
    return lines.split('Limit')[1] ?? lines;
  }

  it.each<[string, string, Record<string, string>]>([
    ['/devices', 'devices_os_version_values', { sort: 'os_version' }],
    ['/devices', 'devices_os_version_values', { sort: '-os_version' }],
    ['/devices', 'devices_os_version_values', { sort: '-os_version', 'page[after]': '' }],
    ['/devices', 'devices_os_version_values', { sort: 'os_version', 'page[before]': '' }],
    ['/devices', 'devices_os_version_values', { 'filter[os_version]': '15.7.9' }],
    ['/devices', 'devices_build_version_values', { sort: '-build_version' }],
    [
      '/installed_applications',
      'installed_applications_short_version_values',
      { sort: 'short_version' },
    ],
    [
      '/installed_applications',
      'installed_applications_version_values',
      { 'filter[version]': '7.0' },
    ],
  ])('of %s uses %s: %j', async (path, index, query) => {
    const plan = await planOf(path, query);
    expect(plan).toContain(index);
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  });

  it('of a page behind a cursor begins there', async () => {
    const first = await request(api.app)
      .get('/api/v1/devices')
      .query({ sort: '-os_version', 'page[after]': '', 'page[size]': '500' });
    const query = Object.fromEntries(new URLSearchParams(first.body.links.next.split('?')[1]));
    const plan = await planOf('/devices', query);
    expect(plan).toMatch(/devices_os_version_values/);
    expect(plan).toMatch(/Index Cond: .*version_key\(os_version\).* < ROW\('/);
    expect(plan).not.toMatch(/Sort/);
  });
});
