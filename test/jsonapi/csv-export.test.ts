import { createToken } from '../../src/auth/api-tokens.js';
import { ADMIN_TOKEN, adminApi, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  await app.db.knex('devices').insert([
    {
      serial_number: 'CSV1',
      device_name: '=HYPERLINK("http://evil.example.com")',
      is_enrolled: true,
      battery_level: -0.5,
      enrolled_at: new Date('2026-03-26T23:42:09Z'),
      ethernet_macs: JSON.stringify(['a', 'b']),
    },
    { serial_number: 'CSV2', device_name: 'Anna, "the" Mac\nof two lines' },
    { serial_number: 'CSV3', device_name: '@SUM(A1)', hostname: ' spaces ' },
  ]);
});
afterAll(() => app.stop());

async function csv(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const Authorization = `Bearer ${ADMIN_TOKEN}`;
  const init = { method, headers: { Accept: 'text/csv', Authorization, ...headers } };
  const response = await fetch(`${app.url}/api/v1${path}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const lines = (text: string) => text.split('\r\n').slice(0, -1);

describe('a collection as CSV', () => {
  it.each([
    [
      '/devices?page[size]=5',
      'page[size]',
      'page[size] does not go with text/csv, which has all rows',
    ],
    ['/devices?page[after]=', 'page[after]', 'page[after] does not go with text/csv'],
    ['/devices?include=tags', 'include', 'include does not go with text/csv'],
    [
      '/devices?fields[devices]=udid,tags',
      'fields[devices]',
      `a cell of text/csv can't show "tags"`,
    ],
    ['/devices?fields[devices]=nothing', 'fields[devices]', 'devices has no field "nothing"'],
    ['/devices?sort=nothing', 'sort', `devices can't be sorted by "nothing"`],
    ['/devices?filter[nothing]=1', 'filter[nothing]', `devices can't be filtered by "nothing"`],
  ])('is refused for %s', async (path, parameter, detail) => {
    const { status, text, headers } = await csv(path);
    const [error] = JSON.parse(text).errors;
    expect([status, error.source]).toEqual([400, { parameter }]);
    expect(error.detail).toContain(detail);
    expect(headers.get('content-type')).toBe('application/vnd.api+json');
  });

  it('is refused without a token, for a lower role and below what does not exist', async () => {
    expect((await csv('/devices', { Authorization: '' })).status).toBe(401);
    const context = {
      requestId: 'r',
      actor: { name: 'x', role: 'admin' as const },
      sourceAddress: null,
    };
    const viewer = await createToken(app.db, { name: 'v', role: 'viewer' }, context);
    const Authorization = `Bearer ${viewer.token}`;
    expect((await csv('/audit_events', { Authorization })).status).toBe(403);
    expect((await csv('/devices/999999/tags')).status).toBe(404);
  });

  it('has the fields that are asked for, in their order, with the filter and the sort', async () => {
    const fields =
      'serial_number,device_name,is_enrolled,battery_level,enrolled_at,ethernet_macs,hostname';
    const path = `/devices?fields[devices]=${fields}&sort=serial_number`;
    const { status, headers, text } = await csv(path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="devices-[\d-]{10}\.csv"$/,
    );
    expect(headers.get('vary')).toContain('Accept');
    expect(headers.get('cache-control')).toBe('no-store');
    const ids = (await app.db.knex('devices').orderBy('serial_number')).map(({ id }) => id);
    const rows = [
      `${ids[0]},CSV1,"'=HYPERLINK(""http://evil.example.com"")",true,-0.5,2026-03-26T23:42:09+00:00,"[""a"",""b""]",\r\n`,
      `${ids[1]},CSV2,"Anna, ""the"" Mac\nof two lines",false,,,,\r\n`,
      `${ids[2]},CSV3,'@SUM(A1),false,,,," spaces "\r\n`,
    ];
    expect(text).toBe(`id,${fields}\r\n${rows.join('')}`);
    const filtered = await csv(`${path}&filter[serial_number]=CSV3`);
    expect(lines(filtered.text)).toEqual([`id,${fields}`, rows[2]?.trimEnd()]);
  });

  it('has every attribute of the list by default, and the ids of to-one relationships', async () => {
    const list = await adminApi(app).get('/devices');
    const [header = ''] = lines((await csv('/devices')).text);
    const names = Object.keys(list.body.data[0].attributes);
    expect(header.split(',')).toEqual(['id', ...names, 'dep_profile_id', 'enrollment_link_id']);
  });

  it.each(['=1', '+1', '-1', '@x', '|x', '%x', '＝1', '\t=1'])('makes text of %j', async (name) => {
    const [row] = await app.db.knex('devices').insert({ device_name: name }).returning('id');
    const { text } = await csv(`/devices?fields[devices]=device_name&filter[id]=${row.id}`);
    expect(text).toBe(`id,device_name\r\n${row.id},'${name}\r\n`);
    await app.db.knex('devices').where({ id: row.id }).delete();
  });

  it('shows no secret, and to a viewer what a viewer reads', async () => {
    const { text } = await csv('/dep/accounts');
    expect(lines(text)[0]).not.toContain('access_secret');
  });

  it('has all rows, from page to page, each once', async () => {
    const rows = Array.from({ length: 2_345 }, (_, index) => ({
      name: `csv ${String(index % 900).padStart(4, '0')} ${index}`,
    }));
    await app.db.knex.batchInsert('tags', rows, 500);
    const { text } = await csv('/tags?fields[tags]=name&sort=-name');
    const names = lines(text)
      .slice(1)
      .map((line) => line.split(',')[1]);
    expect(names).toEqual(
      rows.map(({ name }) => name).sort((one, other) => (one < other ? 1 : -1)),
    );
    expect((await csv('/tags?fields[tags]=name&filter[name]=none')).text).toBe('id,name\r\n');
  });

  it('is the list below a resource, or of a view, too', async () => {
    const [device] = await app.db.knex('devices').where({ serial_number: 'CSV1' });
    const [tag] = await app.db.knex('tags').insert({ name: 'of csv 1' }).returning('id');
    await app.db.knex('device_tags').insert({ device_id: device.id, tag_id: tag.id });
    const { text } = await csv(`/devices/${device.id}/tags?fields[tags]=name`);
    expect(text).toBe(`id,name\r\n${tag.id},of csv 1\r\n`);
    expect((await csv('/ca_certificates?fields[certificates]=purpose')).text).toMatch(
      /^id,purpose\r\n\d+,mdm\.cacert\r\n$/,
    );
  });

  it('leaves a line in the audit trail, with what was asked for', async () => {
    await csv('/devices?fields[devices]=udid&filter[serial_number]=CSV3');
    const event = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(event).toMatchObject({
      actor: 'ADMIN_TOKEN',
      action: 'devices.export',
      target_type: 'devices',
      target_id: null,
      outcome: 'success',
      details: {
        path: '/api/v1/devices',
        query: 'fields[devices]=udid&filter[serial_number]=CSV3',
        total: 1,
      },
    });
  });

  it('answers HEAD without rows', async () => {
    const { status, headers, text } = await csv('/devices', {}, 'HEAD');
    expect([status, text]).toEqual([200, '']);
    expect(headers.get('content-type')).toContain('text/csv');
  });

  it.each(['application/vnd.api+json, text/csv;q=0.5', '*/*', 'application/json', 'text/csv;q=0'])(
    'is not sent for Accept: %s',
    async (Accept) => {
      const { headers } = await csv('/devices', { Accept });
      expect(headers.get('content-type')).toContain('application/vnd.api+json');
    },
  );

  it('is available for collections only', async () => {
    const [device] = await app.db.knex('devices').where({ serial_number: 'CSV1' });
    const { status, headers } = await csv(`/devices/${device.id}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.api+json']);
  });
});
