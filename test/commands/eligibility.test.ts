import { createToken } from '../../src/auth/api-tokens.js';
import type { RequestContext } from '../../src/jsonapi/context.js';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';

const CONTEXT: RequestContext = {
  requestId: 'request-7',
  actor: { name: 'root', role: 'admin' },
  sourceAddress: '192.0.2.1',
};

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  operator = (await createToken(app.db, { name: 'shift', role: 'operator' }, CONTEXT)).token;
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('devices').delete());

async function addDevice(columns: Record<string, unknown>): Promise<number> {
  const usual = { enrollment_state: 'enrolled', is_enrolled: true };
  const [{ id }] = await app.db.knex('devices').insert({ ...usual, ...columns }, 'id');
  return Number(id);
}

async function queue(
  id: number,
  type: string,
  { query = '', token = undefined as string | undefined, parameters = {} } = {},
) {
  const document = commandDocument(id, type, { parameters });
  const { status, body } = await adminApi(app, token).post(`/commands${query}`, document);
  const errors = body.errors as { code: string; detail: string; source: object }[] | undefined;
  return { status, errors: errors?.map(({ code, detail, source }) => ({ code, detail, source })) };
}

const source = { pointer: '/data/attributes/request_type' };

describe('a command that the device cannot take', () => {
  it('is refused with every reason', async () => {
    const id = await addDevice({ platform: 'iOS', os_version: '9.2', is_supervised: false });
    expect(await queue(id, 'DisableLostMode')).toEqual({
      status: 422,
      errors: [
        {
          code: 'unsupported_on_os_version',
          detail: `DisableLostMode needs iOS 9.3, and the device runs 9.2 (device ${id})`,
          source,
        },
        {
          code: 'not_supervised',
          detail: `DisableLostMode needs a supervised device (device ${id})`,
          source,
        },
      ],
    });
    expect(await app.db.knex('commands').pluck('request_type')).toEqual([]);
  });

  it.each([
    ['DisableLostMode', { Nonsense: 1 }, 'Nonsense'],
    ['SetRecoveryLock', { NewPassword: 'x'.repeat(256) }, 'NewPassword'],
  ])(
    'is refused with the faults of its parameters and every reason: %s',
    async (type, parameters, name) => {
      const id = await addDevice({ platform: 'tvOS', os_version: '17.0' });
      const document = commandDocument(id, type, { parameters });
      const { status, body } = await adminApi(app).post('/commands', document);
      const found = body.errors.map((error: { code: string; source: object }) => [
        error.code,
        error.source,
      ]);
      expect([status, found]).toEqual([
        422,
        [
          ['validation_failed', { pointer: `/data/attributes/parameters/${name}` }],
          ['unsupported_on_platform', source],
        ],
      ]);
    },
  );

  it('is not forced on a device of its user, not even where its platform has no such command', async () => {
    const columns = { platform: 'iOS', os_version: '17.0', enrollment_type: 'user' };
    const id = await addDevice({ ...columns, enrollment_method: 'account_user' });
    const { status, errors } = await queue(id, 'SetRecoveryLock', { query: '?force=true' });
    expect([status, errors]).toEqual([
      422,
      [
        {
          code: 'unsupported_on_platform',
          detail: `SetRecoveryLock does not exist on iOS, which device ${id} runs`,
          source,
        },
      ],
    ]);
  });

  it('names the fact that decides whether the enrollment was automated', async () => {
    const columns = { platform: 'iOS', os_version: '18.0', is_supervised: true };
    const id = await addDevice({ ...columns, enrollment_method: 'profile' });
    const { body } = await adminApi(app).get(`/command_types/DeviceConfigured?device=${id}`);
    expect(body.data.attributes.warnings).toEqual([
      `device ${id} has not reported enrolled_via_dep, which decides whether it takes ` +
        'DeviceConfigured; it is checked again before the command is sent',
    ]);
  });

  it.each<[string, object, string]>([
    ['EraseDevice', {}, 'EraseDevice needs the role admin'],
    ['DeviceLock', { PIN: '123456' }, 'DeviceLock with the secret PIN needs the role admin'],
  ])('is refused to operators with the reason: %s %j', async (type, parameters, detail) => {
    const id = await addDevice({ platform: 'macOS', os_version: '15.0' });
    const document = commandDocument(id, type, { parameters });
    const { status, body } = await adminApi(app, operator).post('/commands', document);
    expect([status, body.errors[0].detail]).toEqual([403, detail]);
  });

  it('is queued while a required fact is unknown, and the answer says so', async () => {
    const id = await addDevice({ platform: 'iOS', os_version: '17.0' });
    const post = (query: string) =>
      adminApi(app).post(`/commands${query}`, commandDocument(id, 'DisableLostMode'));
    const { status, body } = await post('');
    const warning =
      `device ${id} has not reported is_supervised, which decides whether it takes ` +
      'DisableLostMode; it is checked again before the command is sent';
    expect([status, body.meta]).toEqual([201, { warnings: [warning] }]);
    const { body: shown } = await adminApi(app).get(`/command_types/DisableLostMode?device=${id}`);
    expect(shown.data.attributes).toMatchObject({ eligible: true, warnings: [warning] });
    expect((await post('?force=true')).body.meta).toBeUndefined();
    await app.db.knex('devices').update({ is_supervised: true });
    expect((await post('')).body.meta).toBeUndefined();
  });

  it('is refused without the right that the enrollment profile would have to grant', async () => {
    const id = await addDevice({ platform: 'iOS', os_version: '18.0' });
    expect((await queue(id, 'EraseDevice')).status).toBe(201);
    await app.db
      .knex('devices')
      .where({ id })
      .update({ access_rights: 8191 - 8 });
    const code = 'forbidden_by_enrollment';
    const detail =
      'EraseDevice needs the access right AllowDeviceErase, which the enrollment profile does not ' +
      `grant (device ${id})`;
    expect(await queue(id, 'EraseDevice')).toEqual({
      status: 422,
      errors: [{ code, detail, source }],
    });
    expect((await queue(id, 'DeviceLock')).status).toBe(201);
    expect((await queue(id, 'EraseDevice', { query: '?force=true' })).status).toBe(201);
    const { body } = await adminApi(app).get(`/command_types/EraseDevice?device=${id}`);
    expect(body.data.attributes).toMatchObject({ eligible: false, reasons: [{ code, detail }] });
  });

  it('is queued while the rights are not known, and the answer says so', async () => {
    const id = await addDevice({ platform: 'iOS', os_version: '18.0', access_rights: null });
    const { status, body } = await adminApi(app).post(
      '/commands',
      commandDocument(id, 'EraseDevice'),
    );
    const warning =
      `device ${id} has not reported access_rights, which decides whether it takes EraseDevice; ` +
      'it is checked again before the command is sent';
    expect([status, body.meta]).toEqual([201, { warnings: [warning] }]);
    const { body: shown } = await adminApi(app).get(`/command_types/EraseDevice?device=${id}`);
    expect(shown.data.attributes).toMatchObject({ eligible: true, warnings: [warning] });
  });

  it('is refused when its system no longer supports it, with the replacement', async () => {
    const id = await addDevice({ platform: 'macOS', os_version: '27.0' });
    const refused = await queue(id, 'OSUpdateStatus');
    expect(refused.status).toBe(422);
    expect(refused.errors?.[0]).toEqual({
      code: 'unsupported_on_os_version',
      detail:
        `OSUpdateStatus was removed with macOS 27.0, and the device runs 27.0 (device ${id}); the ` +
        'declaration com.apple.configuration.softwareupdate.enforcement.specific enforces an update there',
      source,
    });
  });

  it('is queued all the same when an admin forces it, and the audit trail says so', async () => {
    const id = await addDevice({ platform: 'macOS', os_version: '27.0' });
    expect((await queue(id, 'OSUpdateStatus', { query: '?force=true' })).status).toBe(201);
    const [event] = await app.db
      .knex('audit_events')
      .where({ action: 'commands.create' })
      .orderBy('id', 'desc')
      .limit(1);
    expect(event.details).toMatchObject({ parameters: ['force'] });
  });

  it('cannot be forced by an operator', async () => {
    const id = await addDevice({ platform: 'macOS', os_version: '27.0' });
    const refused = await queue(id, 'OSUpdateStatus', { query: '?force=true', token: operator });
    expect(refused).toMatchObject({
      status: 403,
      errors: [{ code: 'forbidden', detail: 'to force a command needs the role admin' }],
    });
  });

  it("cannot be forced on a person's own device", async () => {
    const id = await addDevice({ platform: 'iOS', enrollment_type: 'user' });
    const refused = await queue(id, 'RestartDevice', { query: '?force=true' });
    expect([refused.status, refused.errors?.map(({ code }) => code)]).toEqual([
      422,
      ['forbidden_by_enrollment'],
    ]);
  });

  it.each([
    [
      'DeviceInformation',
      { Queries: ['DeviceName', 'SerialNumber', 'UDID'] },
      ['Queries/1', 'Queries/2'],
    ],
    ['Settings', { Settings: [{ Item: 'DeviceName', DeviceName: 'Mine' }] }, ['Settings/0']],
  ])('nor can the keys of %s be forced there', async (type, parameters, places) => {
    const owned = { platform: 'iOS', os_version: '18.0', enrollment_method: 'account_user' };
    const id = await addDevice(owned);
    const plain = await queue(id, type, { parameters });
    expect(plain.status).toBe(422);
    expect(plain.errors).toMatchObject(
      places.map((place) => ({
        code: 'forbidden_by_enrollment',
        source: { pointer: `/data/attributes/parameters/${place}` },
      })),
    );
    expect(await queue(id, type, { parameters, query: '?force=true' })).toEqual(plain);
    expect(await app.db.knex('commands').pluck('request_type')).toEqual([]);
  });
});

describe('a key that the device cannot take', () => {
  it.each<[string, Record<string, unknown>, string, object, object[]]>([
    [
      'a removed query',
      { platform: 'macOS', os_version: '27.0' },
      'DeviceInformation',
      { Queries: ['DeviceName', 'OSUpdateSettings'] },
      [
        {
          code: 'unsupported_on_os_version',
          detail:
            'OSUpdateSettings of DeviceInformation was removed with macOS 27.0, and the device ' +
            'runs 27.0 (device ID)',
          source: { pointer: '/data/attributes/parameters/Queries/1' },
        },
      ],
    ],
    [
      'a setting of another platform',
      { platform: 'macOS', os_version: '27.0' },
      'Settings',
      { Settings: [{ Item: 'SoftwareUpdateSettings', RecommendationCadence: 1 }] },
      [
        {
          code: 'unsupported_on_platform',
          detail:
            'SoftwareUpdateSettings of Settings does not exist on macOS, which device ID runs',
          source: { pointer: '/data/attributes/parameters/Settings/0' },
        },
      ],
    ],
    [
      'each setting that it cannot take',
      { platform: 'iOS', os_version: '18.0', is_supervised: false },
      'Settings',
      {
        Settings: [
          { Item: 'DeviceName', DeviceName: 'Desk' },
          { Item: 'VoiceRoaming', Enabled: true },
          { Item: 'HostName', HostName: 'desk' },
          { Item: 'MDMOptions', MDMOptions: { BootstrapTokenAllowed: true } },
        ],
      },
      [
        {
          code: 'not_supervised',
          detail: 'DeviceName of Settings needs a supervised device (device ID)',
          source: { pointer: '/data/attributes/parameters/Settings/0' },
        },
        {
          code: 'unsupported_on_platform',
          detail: 'HostName of Settings does not exist on iOS, which device ID runs',
          source: { pointer: '/data/attributes/parameters/Settings/2' },
        },
        {
          code: 'unsupported_on_platform',
          detail:
            'BootstrapTokenAllowed of Settings does not exist on iOS, ' + 'which device ID runs',
          source: {
            pointer: '/data/attributes/parameters/Settings/3/MDMOptions/BootstrapTokenAllowed',
          },
        },
      ],
    ],
    [
      "a query that a person's own device does not answer",
      { platform: 'iOS', os_version: '18.0', enrollment_type: 'user' },
      'DeviceInformation',
      { Queries: ['SerialNumber'] },
      [
        {
          code: 'forbidden_by_enrollment',
          detail: 'SerialNumber of DeviceInformation is not for a user enrollment (device ID)',
          source: { pointer: '/data/attributes/parameters/Queries/0' },
        },
      ],
    ],
  ])('is refused with its place: %s', async (_what, columns, type, parameters, expected) => {
    const id = await addDevice(columns);
    const { status, errors } = await queue(id, type, { parameters });
    const shown = JSON.parse(JSON.stringify(errors).replaceAll(`device ${id}`, 'device ID'));
    expect([status, shown]).toEqual([422, expected]);
    expect(await app.db.knex('commands').pluck('request_type')).toEqual([]);
    const forced = { parameters, query: '?force=true' };
    const isOwn = columns.enrollment_type === 'user';
    expect((await queue(id, type, forced)).status).toBe(isOwn ? 422 : 201);
    expect((await queue(id, type, { ...forced, token: operator })).status).toBe(403);
  });

  it('is named beside other faults of the parameters, each at its place', async () => {
    const id = await addDevice({ platform: 'iOS', os_version: '18.0', is_supervised: false });
    const Settings = [
      { Item: 'Colour' },
      null,
      { Item: 'HostName', HostName: 'desk' },
      { Item: 'TimeZone', TimeZone: 'Mars/Olympus' },
    ];
    const { status, errors } = await queue(id, 'Settings', { parameters: { Settings } });
    const at = (place: string) => ({
      source: { pointer: `/data/attributes/parameters/Settings/${place}` },
    });
    expect([status, errors]).toMatchObject([
      422,
      [
        { ...at('1'), detail: '1 must not be null' },
        { ...at('0/Item'), detail: expect.stringMatching(/^Item must be one of Wallpaper, /) },
        {
          ...at('3/TimeZone'),
          detail:
            'TimeZone must be a name of the IANA time zone database, such as Europe/Berlin or America/New_York',
        },
        {
          ...at('2'),
          code: 'unsupported_on_platform',
          detail: `HostName of Settings does not exist on iOS, which device ${id} runs`,
        },
        { ...at('3'), code: 'not_supervised' },
      ],
    ]);
    expect(errors).toHaveLength(5);
  });

  it('is queued while the fact that decides is unknown', async () => {
    const Settings = [{ Item: 'DeviceName', DeviceName: 'Desk' }];
    const id = await addDevice({ platform: 'iOS' });
    expect((await queue(id, 'Settings', { parameters: { Settings } })).status).toBe(201);
    const other = await addDevice({});
    const parameters = { Settings: [{ Item: 'HostName', HostName: 'desk' }] };
    expect((await queue(other, 'Settings', { parameters })).status).toBe(201);
  });

  it('keeps a queued command from being moved to the device', async () => {
    const mac = await addDevice({ platform: 'macOS', os_version: '15.0' });
    const phone = await addDevice({ platform: 'iOS', os_version: '18.0', is_supervised: true });
    const parameters = { Settings: [{ Item: 'HostName', HostName: 'desk' }] };
    const document = commandDocument(mac, 'Settings', { parameters });
    const { body } = await adminApi(app).post('/commands', document);
    const data = [{ type: 'commands', id: body.data.id }];
    const moved = await adminApi(app).post(`/devices/${phone}/relationships/commands`, { data });
    expect([moved.status, moved.body.errors[0]]).toMatchObject([
      422,
      {
        code: 'unsupported_on_platform',
        detail: `HostName of Settings does not exist on iOS, which device ${phone} runs`,
        source: { pointer: '/data' },
      },
    ]);
  });

  it('keeps a lock without a PIN from being moved to a Mac that needs one', async () => {
    const phone = await addDevice({ platform: 'iOS', os_version: '18.0' });
    const mac = await addDevice({ platform: 'macOS', os_version: '15.0' });
    const { body } = await adminApi(app).post('/commands', commandDocument(phone, 'DeviceLock'));
    const data = [{ type: 'commands', id: body.data.id }];
    const move = () => adminApi(app).post(`/devices/${mac}/relationships/commands`, { data });
    const { status, body: refusal } = await move();
    expect([status, refusal.errors[0].code, refusal.errors[0].detail]).toEqual([
      422,
      'conflict',
      `device ${mac} needs a PIN for DeviceLock, and the command has none: ` +
        'queue it for this device, and Muster makes one',
    ]);
    await app.db.knex('devices').where({ id: mac }).update({ pin_required_for_device_lock: false });
    expect((await move()).status).toBe(200);
  });
});

describe('a command for a device that has reported little', () => {
  it.each([{}, { platform: 'iOS' }, { platform: 'macOS', os_version: 'beta' }])(
    'is queued for %j: what is not known excludes nothing',
    async (columns) => {
      const id = await addDevice(columns);
      expect((await queue(id, 'OSUpdateStatus')).status).toBe(201);
    },
  );
});

describe('the parameter force', () => {
  it('is refused for a change', async () => {
    const id = await addDevice({ platform: 'iOS' });
    const made = await adminApi(app).post('/commands', commandDocument(id, 'ProfileList'));
    const commandId = made.body.data.id;
    const data = { type: 'commands', id: commandId, attributes: { priority: 5 } };
    const changed = await adminApi(app).patch(`/commands/${commandId}?force=true`, { data });
    expect([changed.status, changed.body.errors?.[0].source]).toEqual([
      400,
      { parameter: 'force' },
    ]);
  });
});
