import { ADMIN_TOKEN, commandDocument, startApp, type TestApp } from '../helpers/app.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

/** The status and the errors, each as its place and its detail. */
async function refusal(
  method: string,
  path: string,
  body?: unknown,
): Promise<[status: number, ...faults: string[][]]> {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
  const sent = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(`${app.url}/api/v1${path}`, { method, headers, body: sent });
  const { errors } = (await response.json()) as {
    errors: { detail: string; source?: Record<string, string> }[];
  };
  const found = errors.map(({ detail, source = {} }) => [...Object.values(source), detail]);
  return [response.status, ...found];
}

describe('a name that the API does not have', () => {
  it.each([
    [
      '/tags?sort=colour',
      'sort',
      `tags can't be sorted by "colour"; known: id, name, color, updated_at`,
    ],
    [
      '/tags?filter[nam]=a',
      'filter[nam]',
      `tags can't be filtered by "nam"; known: id, name, color, updated_at, devices, applications, profiles`,
    ],
    [
      '/tags?fields[tags]=nam',
      'fields[tags]',
      'tags has no field "nam"; known: name, color, updated_at, devices_count, devices, applications, profiles',
    ],
    [
      '/tags?include=device',
      'include',
      '"device": tags has no relationship "device"; known: devices, applications, profiles',
    ],
    [
      '/tags?pagesize=5',
      'pagesize',
      'unknown query parameter "pagesize"; known: filter, filter[NAME], sort, page[number], page[size], page[after], page[before], page[total], include, fields[TYPE]',
    ],
    [
      '/tags?page[after]=xx',
      'page[after]',
      'page[after] is no cursor of tags in this order: take it from links.next or links.prev of a page with the same sort, or leave it empty to start',
    ],
    [
      '/tags?filter={"nam":"name"}',
      'filter',
      'a rule has no member "nam"; it has name, op, and val or field',
    ],
    [
      '/tags?filter=[{"name":"name","op":"equal","val":"a"}]',
      'filter',
      'unknown operator "equal"; the nearest of 21 known ones: eq, ne, gt, ge, lt (/api/v1/openapi.json has all)',
    ],
    [
      '/tags?filter=[{"name":"name","op":"like","field":"color"}]',
      'filter',
      '"like" can\'t compare two fields; known: eq, ne, gt, ge, lt, le',
    ],
    [
      '/tags/1/relationships/devices?x=1',
      'x',
      'unknown query parameter "x"; known: page[size], page[number]',
    ],
  ])('in %s is named with those that it has', async (path, parameter, detail) => {
    expect(await refusal('GET', path)).toEqual([400, [parameter, detail]]);
  });

  it('is named with the nearest, where there are many', async () => {
    const [status, [parameter, detail] = []] = await refusal('GET', '/devices?sort=devicename');
    expect([status, parameter]).toEqual([400, 'sort']);
    expect(detail).toMatch(
      /^devices can't be sorted by "devicename"; the nearest of \d+ known ones: device_name, /,
    );
    const [, [, ofType] = []] = await refusal('GET', '/devices?fields[tag]=name');
    expect(ofType).toMatch(/^there is no type "tag"; the nearest of \d+ known ones: tags, /);
  });

  it('in a document is reported beside all other faults', async () => {
    const attributes = { name: 5, colour: 'ff0000' };
    const relationships = { device: { data: [] } };
    const body = { data: { type: 'tags', attributes, relationships } };
    expect(await refusal('POST', '/tags', body)).toEqual([
      422,
      ['/data/attributes/name', 'name must be a string'],
      [
        '/data/attributes/colour',
        'tags has no attribute "colour"; known: name, color, updated_at, devices_count',
      ],
      [
        '/data/relationships/device',
        'tags has no relationship "device"; known: devices, applications, profiles',
      ],
    ]);
  });

  it('is explained for the first ten of thousands only', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => [`attribute_${index}`, 1]);
    const body = { data: { type: 'devices', attributes: Object.fromEntries(names) } };
    const [status, ...faults] = await refusal('POST', '/devices', body);
    expect(status).toBe(422);
    const explained = faults.filter(([, detail]) => detail?.includes('nearest'));
    expect([faults.length, explained.length]).toEqual([500, 10]);
  });

  it('among the keys of a command is reported beside a bad PIN', async () => {
    const { rows } = await app.db.knex.raw<{ rows: { id: number }[] }>(
      `insert into devices (udid, enrollment_state, platform, os_version)
       values ('A', 'enrolled', 'macOS', '14.0') returning id`,
    );
    const parameters = { PIN: '12', Colour: 1, Message: 7 };
    const body = commandDocument(rows[0]?.id ?? 0, 'DeviceLock', { parameters });
    expect(await refusal('POST', '/commands', body)).toEqual([
      422,
      [
        '/data/attributes/parameters/PIN',
        'PIN must be six digits. Leave it out: Muster makes one for a Mac that needs one, ' +
          'and other devices have none',
      ],
      ['/data/attributes/parameters/Colour', expect.any(String)],
      ['/data/attributes/parameters/Message', expect.any(String)],
    ]);
  });

  it('of a method is refused with those that are possible, in words and in Allow', async () => {
    const allowed = 'GET, POST, HEAD, OPTIONS';
    expect(await refusal('PUT', '/tags')).toEqual([
      405,
      [`PUT is not possible here, only ${allowed}`],
    ]);
  });
});
