import { adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
  const { knex } = app.db;
  await knex('devices').insert({ serial_number: 'C02XL0AAJGH5', device_name: 'ab' });
  await knex('tags').insert({ name: 'ab' });
  // What PostgreSQL knows of the tables, as after an analyze of many rows.
  await knex.raw('analyze devices, certificates, commands');
  await knex.raw(
    `update pg_class set reltuples = 100001 * relpages
     where relname in ('devices', 'certificates', 'commands') and relpages > 0`,
  );
});
afterAll(() => app.stop());

async function refused(path: string): Promise<object | undefined> {
  const { status, body } = await adminApi(app).get(path);
  if (status === 200) return undefined;
  expect(status).toBe(400);
  const [{ code, detail, source }] = body.errors;
  expect(code).toBe('query_too_expensive');
  return { detail, source };
}

function search(name: string, op: string, val: string): string {
  return encodeURIComponent(JSON.stringify([{ name, op, val }]));
}

describe('a collection of more than 100,000', () => {
  it('is sorted by indexed attributes, and by last_seen of devices', async () => {
    const sorts = ['id', '-id', 'device_name', '-device_name', '-serial_number', 'asset_tag'];
    for (const sort of [...sorts, 'os_version', '-enrolled_at,imei', 'last_seen', '-last_seen']) {
      expect([sort, await refused(`/devices?sort=${sort}`)]).toEqual([sort, undefined]);
    }
  });

  it('is not sorted by other attributes, and the answer lists the possible ones', async () => {
    expect(await refused('/devices?sort=-imei,device_name')).toEqual({
      detail:
        'There are more than 100,000 devices: sort by one of id, enrollment_method, health, ' +
        'authenticated_at, enrolled_at, last_seen, created_at, device_name, build_version, os_version, model_name, ' +
        'serial_number, device_capacity, asset_tag; or add a filter, which makes "imei" possible',
      source: { parameter: 'sort' },
    });
  });

  it('is sorted by a related attribute only with a filter', async () => {
    const sort = 'sort=enrollment_link.name';
    expect(await refused(`/devices?${sort}`)).toEqual({
      detail: expect.stringMatching(
        /; or add a filter, which makes "enrollment_link.name" possible$/,
      ),
      source: { parameter: 'sort' },
    });
    expect(await refused(`/devices?filter[serial_number]=none&${sort}`)).toBeUndefined();
  });

  it.each(['not_before', 'not_after', 'subject', 'purpose'])(
    'of certificates is sorted by %s, as the contract says',
    async (name) => {
      const { knex } = app.db;
      expect(await knex('certificates').first('id')).toBeDefined();
      expect(await refused(`/certificates?sort=${name}`)).toBeUndefined();
      expect(await refused(`/certificates?sort=-${name}`)).toBeUndefined();
      expect(await refused('/certificates?sort=revocation_reason')).toBeDefined();
    },
  );

  it('is sorted by anything when it is filtered, or the collection of one resource', async () => {
    expect(await refused('/devices?sort=imei&filter[platform]=iOS')).toBeUndefined();
    const { id } = await app.db.knex('devices').first('id');
    expect(await refused(`/devices/${id}/commands?sort=-acknowledged_at`)).toBeUndefined();
  });

  it('is searched for three characters or more, or beside another rule', async () => {
    const short = {
      detail: 'There are more than 100,000 devices: search for at least 3 characters',
      source: { parameter: 'filter' },
    };
    const find = (name: string, op: string, val: string) =>
      refused(`/devices?filter=${search(name, op, val)}`);
    expect(await find('device_name', 'contains', 'ab')).toEqual(short);
    expect(await find('device_name', 'endswith', 'ab')).toEqual(short);
    expect(await find('device_name', 'ilike', '%ab%')).toEqual(short);
    expect(await find('device_name', 'ilike', '%abc%')).toBeUndefined();
    expect(await find('device_name', 'like', 'ab%')).toBeUndefined();
    expect(await find('device_name', 'startswith', 'ab')).toBeUndefined();
    expect(await find('device_name', 'notlike', '%ab%')).toBeUndefined();
    const filter = search('device_name', 'contains', 'ab');
    expect(await refused(`/devices?filter=${filter}&filter[platform]=iOS`)).toBeUndefined();
  });
});

describe('a smaller collection', () => {
  it('is sorted and searched by everything', async () => {
    expect(await refused('/tags?sort=color')).toBeUndefined();
    expect(await refused(`/tags?filter=${search('name', 'contains', 'ab')}`)).toBeUndefined();
  });
});
