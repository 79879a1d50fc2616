import { createToken } from '../../../src/auth/api-tokens.js';
import type { RequestContext } from '../../../src/jsonapi/context.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { createOpenApiValidator, type OpenApiValidator } from '../openapi-validator.js';

const CONTEXT: RequestContext = {
  requestId: 'request-7',
  actor: { name: 'root', role: 'admin' },
  sourceAddress: '192.0.2.1',
};
const REMOVED = [
  'AvailableOSUpdates',
  'OSUpdateStatus',
  'ScheduleOSUpdate',
  'ScheduleOSUpdateScan',
];

let app: TestApp;
let viewer: string;
let documented: OpenApiValidator;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  viewer = (await createToken(app.db, { name: 'reader', role: 'viewer' }, CONTEXT)).token;
  documented = createOpenApiValidator((await adminApi(app).get('/openapi.json')).body);
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('devices').delete());

/** The answer, which must be as the API document says. */
async function read(path: string, status = 200) {
  const { body, headers, ...reply } = await adminApi(app, viewer).get(`/command_types${path}`);
  const name = /^\/\w/.test(path) ? 'getCommandType' : 'listCommandTypes';
  const mediaType = headers['content-type'];
  expect(documented.faultsOfAnswer(name, { status: reply.status, mediaType, body })).toEqual([]);
  expect([path, reply.status]).toEqual([path, status]);
  return body;
}

const idsIn = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
const url = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

async function addDevice(columns: Record<string, unknown>): Promise<number> {
  const usual = { enrollment_state: 'enrolled', is_enrolled: true };
  const [{ id }] = await app.db.knex('devices').insert({ ...usual, ...columns }, 'id');
  return Number(id);
}

describe('the catalogue of commands', () => {
  it('lists all 68 by their request types, the keys left out', async () => {
    const body = await read('?page[size]=100');
    expect(body.meta).toEqual({ count: 68, total: 68 });
    expect(body.data[16]).toEqual({
      type: 'command_types',
      id: 'DeviceLock',
      attributes: {
        request_type: 'DeviceLock',
        title: 'Device Lock',
        platforms: 'iOS, macOS, visionOS, watchOS',
        role: 'operator',
        is_destructive: true,
      },
      links: { self: '/api/v1/command_types/DeviceLock' },
    });
  });

  it('shows one command whole', async () => {
    const { data, links } = await read('/DeviceLock');
    expect(links).toEqual({ self: '/api/v1/command_types/DeviceLock' });
    const { requirements, keys, response_keys } = data.attributes;
    expect(requirements[1]).toEqual({
      platform: 'macOS',
      introduced: '10.7',
      deprecated: null,
      removed: null,
      supervised: false,
      automated_enrollment: false,
      user_enrollment: 'forbidden',
      shared_ipad: null,
      channels: ['device'],
      access_right: 'AllowPasscodeRemovalAndLock',
    });
    expect(keys[2]).toEqual({
      name: 'PIN',
      type: 'string',
      presence: 'optional',
      format: '\\d{6}',
      is_secret: true,
      role: 'admin',
      when_left_out: 'Muster makes six digits for a Mac that needs them, and stores them.',
      platforms: [{ ...requirements[1], introduced: '10.8' }],
    });
    expect(response_keys).toEqual([
      { name: 'MessageResult', type: 'string', presence: 'optional' },
    ]);
  });

  it('shows defaults, values, elements, choices and secrets', async () => {
    const { data } = await read('/EraseDevice?fields[command_types]=keys');
    expect(Object.keys(data.attributes)).toEqual(['keys']);
    const byName = new Map<string, Record<string, unknown>>(
      data.attributes.keys.map((key: { name: string }) => [key.name, key]),
    );
    expect(byName.get('PreserveDataPlan')).toMatchObject({ type: 'boolean', default: false });
    expect(byName.get('ObliterationBehavior')?.values).toEqual([
      ...['Default', 'DoNotObliterate', 'ObliterateWithWarning', 'Always'],
    ]);
    const { keys } = byName.get('ReturnToService') as { keys: { name: string }[] };
    expect(keys[1]).toEqual({
      name: 'WiFiProfileData',
      type: 'data',
      presence: 'optional',
      is_secret: true,
    });
    const { attributes } = (await read('/DeviceInformation')).data;
    const [{ name, items }] = attributes.keys;
    expect([name, items.length, items[0].choices[0].value]).toEqual(['Queries', 1, 'UDID']);
  });

  it('shows what joins keys, also those of a dictionary and of the elements of an array', async () => {
    const shown = async (requestType: string) =>
      (await read(`/${requestType}?fields[command_types]=keys,conditions`)).data.attributes;
    expect((await shown('DeviceLock')).conditions).toEqual([]);
    expect((await shown('InstallApplication')).conditions).toEqual([
      {
        kind: 'one_of',
        keys: ['iTunesStoreID', 'Identifier', 'ManifestURL'],
        text: 'Exactly one of these is needed: iTunesStoreID, Identifier or ManifestURL.',
      },
    ]);
    const { conditions, keys } = await shown('ScheduleOSUpdate');
    expect([conditions, keys[0].conditions]).toEqual([
      [],
      [
        {
          kind: 'at_least_one_of',
          keys: ['ProductKey', 'ProductVersion'],
          text: 'One of these is needed: ProductKey or ProductVersion.',
        },
        {
          kind: 'requires',
          keys: ['MaxUserDeferrals', 'InstallAction'],
          text: 'MaxUserDeferrals needs InstallAction InstallLater.',
        },
      ],
    ]);
  });

  it('pages by number and by cursor', async () => {
    const second = await read(url({ 'page[size]': '30', 'page[number]': '2' }));
    expect([second.meta, idsIn(second)[0]]).toEqual([{ count: 30, total: 68 }, 'LOMDeviceRequest']);
    expect(second.links.last).toBe('/api/v1/command_types?page%5Bsize%5D=30&page%5Bnumber%5D=3');
    const found: string[] = [];
    let next: string | null = '/api/v1/command_types?page[after]=&page[size]=25&sort=-title';
    while (next !== null) {
      const page = await read(next.slice('/api/v1/command_types'.length));
      found.push(...idsIn(page));
      next = page.links.next;
    }
    expect([found.length, new Set(found).size, found[0]]).toEqual([68, 68, 'VerifyRecoveryLock']);
  });

  it('filters, also by the id', async () => {
    const admins = await read('?filter[role]=admin&page[size]=2&sort=-id');
    expect([admins.meta.total, idsIn(admins)]).toEqual([
      9,
      ['SetRecoveryLock', 'SetFirmwarePassword'],
    ]);
    expect(idsIn(await read('?filter[id]=EraseDevice'))).toEqual(['EraseDevice']);
    const ofWatches = ['CertificateList', 'ClearPasscode', 'DeclarativeManagement'];
    expect(idsIn(await read('?filter[platforms]=watchOS&page[size]=3'))).toEqual(ofWatches);
    const contains = JSON.stringify({ name: 'platforms', op: 'contains', val: 'watchOS' });
    expect(idsIn(await read(url({ filter: contains, 'page[size]': '3' })))).toEqual(ofWatches);
    const equals = JSON.stringify({ name: 'platforms', op: 'eq', val: 'macOS' });
    expect(idsIn(await read(url({ filter: equals, 'page[size]': '100' })))).not.toContain(
      'DeviceLock',
    );
  });

  it('names the role of each key that needs another one than the command', async () => {
    const { data } = await read('/VerifyFirmwarePassword');
    expect([data.attributes.role, data.attributes.keys[0]]).toMatchObject([
      'operator',
      { name: 'Password', is_secret: true, role: 'admin' },
    ]);
    const { data: profile } = await read('/InstallProfile');
    expect(profile.attributes.keys[0].name).toBe('Payload');
    expect(profile.attributes.keys[0]).not.toHaveProperty('role');
    const { data: erase } = await read('/EraseDevice');
    expect(erase.attributes.keys.map(({ role }: { role?: string }) => role)).not.toContain('admin');
  });

  it.each([
    ['SetRecoveryLock', 'NewPassword', 'Muster makes one and stores it.'],
    [
      'VerifyFirmwarePassword',
      'Password',
      'Muster sends the one that the Mac last confirmed. Required where none is known.',
    ],
    [
      'RotateFileVaultKey',
      'FileVaultUnlock',
      'For the KeyType personal Muster sends the present recovery key. Required for institutional.',
    ],
    [
      'EraseDevice',
      'ReturnToService',
      'Muster sends the settings of /configuration/return_to_service where their applies_to_erase is true and the supervised device can enroll again.',
    ],
  ])('requires no key of %s that Muster fills in', async (type, name, text) => {
    const { data } = await read(`/${type}`);
    const key = data.attributes.keys.find((one: { name: string }) => one.name === name);
    expect(key).toMatchObject({ presence: 'optional', when_left_out: text });
  });

  it('requires the other keys as Apple does', async () => {
    const presences = async (type: string) => {
      const { data } = await read(`/${type}`);
      const keys = data.attributes.keys as { name: string; presence: string }[];
      return Object.fromEntries(keys.map(({ name, presence }) => [name, presence]));
    };
    expect(await presences('RotateFileVaultKey')).toEqual({
      KeyType: 'required',
      FileVaultUnlock: 'optional',
      NewCertificate: 'optional',
      ReplyEncryptionCertificate: 'optional',
    });
    expect(await presences('SetAutoAdminPassword')).toEqual({
      GUID: 'required',
      passwordHash: 'optional',
      password: 'optional',
    });
    expect(await presences('ClearPasscode')).toEqual({ UnlockToken: 'required' });
  });

  it('lists the password that Muster takes in place of its hash', async () => {
    const { data } = await read('/SetAutoAdminPassword');
    const password = { name: 'password', type: 'string', presence: 'optional', is_secret: true };
    expect(data.attributes.keys.slice(1)).toEqual([
      {
        name: 'passwordHash',
        type: 'data',
        presence: 'optional',
        is_secret: true,
        when_left_out: 'Muster derives it from the key password.',
      },
      { ...password, when_left_out: 'Muster makes one and stores it. Not beside passwordHash.' },
    ]);
    const { data: accounts } = await read('/AccountConfiguration');
    const { items } = accounts.attributes.keys.find(
      ({ name }: { name: string }) => name === 'AutoSetupAdminAccounts',
    );
    expect(items[0].keys.at(-1)).toEqual({
      ...password,
      when_left_out:
        'Muster makes one and stores it. Only of the first account, and not beside passwordHash.',
    });
  });

  it('is shown as CSV, with its filter, order and fields', async () => {
    const query = '?filter[role]=admin&sort=-id&fields[command_types]=title,role';
    const answer = await adminApi(app, viewer)
      .get(`/command_types${query}`)
      .set('Accept', 'text/csv');
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const lines = answer.text.split('\r\n');
    expect(lines.slice(0, 3)).toEqual([
      'id,title,role',
      'SetRecoveryLock,Set Recovery Lock,admin',
      'SetFirmwarePassword,Set Firmware Password,admin',
    ]);
    expect(lines).toHaveLength(11);
    const paged = await adminApi(app, viewer)
      .get('/command_types?page[size]=3')
      .set('Accept', 'text/csv');
    expect([paged.status, paged.body.errors[0].source]).toEqual([400, { parameter: 'page[size]' }]);
  });

  it('has the entity tag of its document', async () => {
    const first = await adminApi(app).get('/command_types/DeviceLock');
    const tag = String(first.headers.etag);
    const again = adminApi(app).get('/command_types/DeviceLock').set('If-None-Match', tag);
    expect([first.status, (await again).status]).toEqual([200, 304]);
  });

  it.each([
    ['/Nonsense', 404, 'not_found', undefined],
    ['/devicelock', 404, 'not_found', undefined],
    ['?sort=keys', 400, 'invalid_parameter', 'sort'],
    ['?filter[eligible]=true', 400, 'invalid_parameter', 'filter[eligible]'],
    ['?nonsense=1', 400, 'invalid_parameter', 'nonsense'],
    ['?device=one', 400, 'invalid_parameter', 'device'],
    ['?device=999999999', 404, 'not_found', 'device'],
    ['/DeviceLock?device=999999999', 404, 'not_found', 'device'],
    ['/DeviceLock?page[size]=3', 400, 'invalid_parameter', 'page[size]'],
    ['?page[size]=1001', 400, 'invalid_parameter', 'page[size]'],
    ['?page[after]=nonsense', 400, 'invalid_parameter', 'page[after]'],
    ['?include=devices', 400, 'invalid_parameter', 'include'],
  ])('refuses %s with %d', async (path, status, code, parameter) => {
    const { errors } = await read(path, status);
    expect(errors).toMatchObject([{ code }]);
    expect(errors[0].source?.parameter).toBe(parameter);
  });

  it.each([
    [
      '/DeviceLok',
      /^command_types "DeviceLok" does not exist; the nearest of \d+ known ones: DeviceLock, /,
    ],
    [
      '?filter[eligible]=true',
      /^"eligible" is known for one device only: add the parameter device=ID$/,
    ],
    ['?device=999999999', /^devices 999999999 does not exist; GET \/api\/v1\/devices lists all$/],
  ])('names the next step of %s', async (path, detail) => {
    const status = path.startsWith('?filter') ? 400 : 404;
    expect((await read(path, status)).errors[0].detail).toMatch(detail);
  });

  it.each(['one', '0', '1e3', '12345678901'])('refuses device=%s', async (device) => {
    const { errors } = await read(`?device=${device}`, 400);
    expect(errors[0].detail).toBe('device must be a whole number from 1 to 999999999');
  });

  it('cannot be written', async () => {
    const { status, headers } = await adminApi(app).post('/command_types', {});
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

describe('the catalogue for one device', () => {
  it('gives the reasons that the refused command gives', async () => {
    const device = await addDevice({ platform: 'iOS', os_version: '9.2', is_supervised: false });
    const { data, links } = await read(`/DisableLostMode?device=${device}`);
    expect(links.self).toBe(`/api/v1/command_types/DisableLostMode?device=${device}`);
    const { eligible, reasons } = data.attributes;
    const refused = await adminApi(app).post(
      '/commands',
      commandDocument(device, 'DisableLostMode'),
    );
    const errors = refused.body.errors as { code: string; detail: string }[];
    expect([eligible, reasons.length, refused.status]).toEqual([false, 2, 422]);
    expect(reasons).toEqual(errors.map(({ code, detail }) => ({ code, detail })));
  });

  it('is filtered by the commands that the device accepts', async () => {
    const device = String(await addDevice({ platform: 'iOS', os_version: '27.0' }));
    const all = await read(url({ device, 'filter[eligible]': 'false', 'page[size]': '100' }));
    expect(idsIn(all)).toEqual(expect.arrayContaining(['AvailableOSUpdates', 'SetRecoveryLock']));
    expect(idsIn(all)).not.toContain('DeviceLock');
    const filter = JSON.stringify({ name: 'id', op: 'in', val: [...REMOVED, 'DeviceLock'] });
    const some = await read(url({ device, filter, sort: '-eligible', 'page[size]': '2' }));
    expect([idsIn(some)[0], some.meta.total]).toEqual(['DeviceLock', 5]);
    expect(some.links.next).toContain(`device=${device}&`);
  });

  it('excludes everything after the device has unenrolled', async () => {
    const device = await addDevice({ platform: 'iOS', enrollment_state: 'unenrolled' });
    const { data } = await read(`/DeviceLock?device=${device}`);
    expect(data.attributes).toMatchObject({
      eligible: false,
      reasons: [
        {
          code: 'device_unenrolled',
          detail: `device ${device} has unenrolled; it takes no commands until it enrolls again`,
        },
      ],
    });
  });
});
