import { createToken } from '../../src/auth/api-tokens.js';
import { ManagedDevice } from '../assignments/assignment-fixture.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { addDevices, batchDocument, batchWorkerOf, tagDevices } from './batch-fixture.js';

let app: TestApp;
let api: ReturnType<typeof adminApi>;
let worker: ReturnType<typeof batchWorkerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  api = adminApi(app);
  worker = batchWorkerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'command_batches', 'tags', 'device_groups']) {
    await app.db.knex(table).delete();
  }
});

const ASK = { request_type: 'DeviceInformation', parameters: { Queries: ['OSVersion'] } };

async function apiOf(role: 'viewer' | 'operator') {
  const actor = { name: 'tests', role: 'admin' as const };
  const context = { requestId: 'x', actor, sourceAddress: null };
  const { token } = await createToken(app.db, { name: role, role }, context);
  return adminApi(app, token);
}

async function create(...document: Parameters<typeof batchDocument>) {
  const { status, body } = await api.post('/command_batches', batchDocument(...document));
  expect([status, body.errors]).toEqual([202, undefined]);
  return Number(body.data.id);
}

async function attributesOf(id: number) {
  const { body } = await api.get(`/command_batches/${id}`);
  return body.data.attributes;
}

const NONE = {
  Queued: 0,
  Sent: 0,
  NotNow: 0,
  Acknowledged: 0,
  Error: 0,
  CommandFormatError: 0,
  Expired: 0,
  Cancelled: 0,
};

describe('a batch of commands', () => {
  it('queues a command for each device of a tag, and counts their results', async () => {
    const device = await ManagedDevice.enroll(app);
    const other = await ManagedDevice.enroll(app);
    const tag = await tagDevices(app, 'lab', [device.id, other.id]);
    await device.poll();
    await other.poll();
    const { status, body, headers } = await api.post(
      '/command_batches',
      batchDocument({ ...ASK, name: 'versions', priority: 3 }, { tags: [tag] }),
    );
    const { id } = body.data;
    expect([status, headers.location]).toEqual([202, `/api/v1/command_batches/${id}`]);
    expect(body.data.attributes).toEqual({
      name: 'versions',
      ...ASK,
      priority: 3,
      ttl: null,
      after: null,
      expires_at: null,
      spread: 0,
      filter: null,
      state: 'expanding',
      targets: { matched: 2, eligible: 2, reduced: 0, left_out: [], refused: [] },
      counts: NONE,
      failures: [],
      created_by: 'ADMIN_TOKEN',
      created_at: expect.any(String),
      expanded_at: null,
      finished_at: null,
    });
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'running',
      counts: { ...NONE, Queued: 2 },
      expanded_at: expect.any(String),
    });
    const commands = await api.get(`/command_batches/${id}/commands`);
    expect(
      commands.body.data.map(({ attributes, relationships }: never) => [
        (attributes as Record<string, unknown>).request_type,
        (attributes as Record<string, unknown>).priority,
        (relationships as { batch: { data: unknown } }).batch.data,
      ]),
    ).toEqual([
      ['DeviceInformation', 3, { type: 'command_batches', id }],
      ['DeviceInformation', 3, { type: 'command_batches', id }],
    ]);
    expect(await device.poll()).toEqual(['DeviceInformation']);
    expect((await attributesOf(id)).counts).toEqual({ ...NONE, Queued: 1, Acknowledged: 1 });
    const error = {
      ErrorCode: 12021,
      ErrorDomain: 'MCMDMErrorDomain',
      LocalizedDescription: 'No.',
    };
    await other.poll(() => ({ status: 'Error', fields: { ErrorChain: [error] } }));
    await worker.run();
    const [failed] = await app.db.knex('commands').where({ device_id: other.id, status: 'Error' });
    expect(await attributesOf(id)).toMatchObject({
      state: 'finished',
      counts: { ...NONE, Acknowledged: 1, Error: 1 },
      failures: [
        {
          status: 'Error',
          error: 'MCMDMErrorDomain 12021',
          message: 'No.',
          count: 1,
          commands: [failed.id],
        },
      ],
      finished_at: expect.any(String),
    });
    const retry = await api.post(`/command_batches/${id}/retry_failed`);
    expect([retry.status, retry.body.data.attributes.targets.matched]).toEqual([202, 1]);
    await worker.run();
    expect(await device.poll()).toEqual([]);
    expect(await other.poll()).toEqual(['DeviceInformation']);
    await worker.run();
    expect(await attributesOf(retry.body.data.id)).toMatchObject({ state: 'finished' });
    const again = await api.post(`/command_batches/${id}/retry_failed`);
    expect([again.status, again.body.errors[0].code]).toEqual([409, 'conflict']);
  });

  it('selects devices, tags and groups together, narrowed by a filter', async () => {
    const [one = 0, two = 0, three = 0, four = 0, mac = 0] = [
      ...(await addDevices(app, 4)),
      ...(await addDevices(app, 1, { platform: 'macOS', os_version: '15.0' })),
    ];
    const tag = await tagDevices(app, 'a', [two, mac]);
    const [group] = await app.db.knex('device_groups').insert({ name: 'g' }, 'id');
    await app.db
      .knex('device_group_devices')
      .insert({ device_group_id: group.id, device_id: three });
    const filter = [{ name: 'platform', op: 'eq', val: 'iOS' }];
    const named = { devices: [one, two], tags: [tag], device_groups: [group.id] };
    const id = await create({ ...ASK, filter }, named);
    await worker.run();
    const rows = await app.db.knex('commands').where({ command_batch_id: id }).orderBy('device_id');
    expect(rows.map(({ device_id }) => device_id)).toEqual([one, two, three]);
    const everyone = await create({ ...ASK, filter });
    await worker.run();
    const all = await app.db.knex('commands').where({ command_batch_id: everyone });
    expect(new Set(all.map(({ device_id }) => device_id))).toEqual(
      new Set([one, two, three, four]),
    );
    expect((await attributesOf(id)).filter).toEqual(filter);
    const linked = (name: string) => api.get(`/command_batches/${id}/relationships/${name}`);
    expect((await linked('tags')).body.data).toEqual([{ type: 'tags', id: tag }]);
    const groups = [{ type: 'device_groups', id: group.id }];
    expect((await linked('device_groups')).body.data).toEqual(groups);
    const devices = await api.get(`/command_batches/${id}/devices`);
    expect(devices.body.data.map((device: { id: number }) => device.id)).toEqual([one, two]);
  });

  it('shows the result for each device beforehand, and stores nothing', async () => {
    const fine = await addDevices(app, 2);
    const [plain = 0] = await addDevices(app, 1, { is_supervised: false });
    const [gone = 0] = await addDevices(app, 1, {
      enrollment_state: 'unenrolled',
      is_enrolled: false,
    });
    const [listed = 0] = await addDevices(app, 1, { enrollment_state: 'dep', is_enrolled: false });
    const [own = 0] = await addDevices(app, 1, { enrollment_type: 'user' });
    const all = [...fine, plain, gone, listed, own];
    const { status, body } = await api.post(
      '/command_batches?dry_run=true',
      batchDocument({ request_type: 'RestartDevice' }, { devices: all }),
    );
    expect([status, body.meta, body.data]).toEqual([
      200,
      {
        confirm: 2,
        targets: {
          matched: 6,
          eligible: 2,
          reduced: 0,
          left_out: [],
          refused: expect.arrayContaining([
            { code: 'not_supervised', count: 1, examples: [plain] },
            { code: 'device_unenrolled', count: 1, examples: [gone] },
            { code: 'device_not_enrolled', count: 1, examples: [listed] },
            { code: 'forbidden_by_enrollment', count: 1, examples: [own] },
          ]),
        },
      },
      undefined,
    ]);
    expect(await app.db.knex('command_batches').first()).toBeUndefined();
    expect(await app.db.knex('command_batch_slices').first()).toBeUndefined();
    const none = await api.post(
      '/command_batches',
      batchDocument({ request_type: 'RestartDevice' }, { devices: [plain, gone] }),
    );
    expect([none.status, none.body.errors]).toMatchObject([
      422,
      [
        {
          code: 'no_eligible_device',
          detail:
            'none of the 2 devices can get RestartDevice (device_unenrolled: 1, not_supervised: 1)',
          meta: { targets: { matched: 2, eligible: 0 } },
        },
      ],
    ]);
  });

  it('leaves out keys that a device does not support, and refuses the device if none is left', async () => {
    const [supervised = 0] = await addDevices(app, 1);
    const [plain = 0] = await addDevices(app, 1, { is_supervised: false });
    const [tv = 0] = await addDevices(app, 1, { platform: 'tvOS', os_version: '18.1' });
    const Settings = [
      { Item: 'DeviceName', DeviceName: 'x' },
      { Item: 'VoiceRoaming', Enabled: true },
    ];
    const id = await create(
      { request_type: 'Settings', parameters: { Settings } },
      { devices: [supervised, plain, tv] },
    );
    await worker.run();
    const { targets } = await attributesOf(id);
    expect(targets).toEqual({
      matched: 3,
      eligible: 3,
      reduced: 2,
      left_out: [
        { name: 'Settings.DeviceName', count: 1, examples: [plain] },
        { name: 'Settings.VoiceRoaming', count: 1, examples: [tv] },
      ],
      refused: [],
    });
    const { body } = await api.get(`/command_batches/${id}/commands?sort=id`);
    const shown = body.data.map(({ id: command }: { id: number }) => command);
    const parameters = await Promise.all(
      shown.map(async (command: number) => {
        const one = await api.get(`/commands/${command}`);
        const { device } = one.body.data.relationships;
        return [device.data.id, one.body.data.attributes.parameters.Settings];
      }),
    );
    expect(Object.fromEntries(parameters)).toEqual({
      [supervised]: Settings,
      [plain]: [Settings[1]],
      [tv]: [Settings[0]],
    });
  });

  it('writes the values of each device for variables', async () => {
    const [one = 0] = await addDevices(app, 1, { serial_number: 'A&B', asset_tag: 'T-1' });
    const [two = 0] = await addDevices(app, 1, { serial_number: 'C02' });
    const DeviceName = ['$SERIAL/', '{ASSET_TAG} for ', '$5'].join('$');
    const Settings = [{ Item: 'DeviceName', DeviceName }];
    const id = await create(
      { request_type: 'Settings', parameters: { Settings } },
      { devices: [one, two] },
    );
    await worker.run();
    expect((await attributesOf(id)).targets).toEqual({
      matched: 2,
      eligible: 1,
      reduced: 0,
      left_out: [],
      refused: [{ code: 'variable_has_no_value', count: 1, examples: [two] }],
    });
    const [row, ...others] = await app.db.knex('commands').where({ command_batch_id: id });
    expect(others).toEqual([]);
    expect(row.payload.toString()).toContain('<string>A&amp;B/T-1 for $5</string>');
    expect(row.payload.toString()).toContain(`<string>${row.uuid}</string>`);
    const wrong = await api.post(
      '/command_batches',
      batchDocument(
        {
          request_type: 'Settings',
          parameters: { Settings: [{ Item: 'DeviceName', DeviceName: '$SERAIL $SECRET_x' }] },
        },
        { devices: [one] },
      ),
    );
    expect([wrong.status, wrong.body.errors]).toMatchObject([
      422,
      [
        {
          detail: expect.stringContaining('$SERAIL is no variable'),
          source: { pointer: '/data/attributes/parameters/Settings/0/DeviceName' },
        },
        { detail: expect.stringContaining('$SECRET_x is for profiles only') },
      ],
    ]);
  });

  it('generates secrets for each device, which are never shown', async () => {
    const macs = await addDevices(app, 2, { platform: 'macOS', os_version: '15.0' });
    const document = { request_type: 'DeviceLock', parameters: { Message: 'Lost' } };
    const refused = await api.post('/command_batches', batchDocument(document, { devices: macs }));
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      409,
      { code: 'confirmation_required', meta: { confirm: 2, targets: { eligible: 2 } } },
    ]);
    const id = await create(document, { devices: macs, confirm: 2 });
    await worker.run();
    const pins = await app.db.knex('device_secrets').where({ kind: 'device_lock_pin' });
    expect(new Set(pins.map(({ device_id }) => device_id))).toEqual(new Set(macs));
    const { body } = await api.get(`/command_batches/${id}/commands`);
    const one = await api.get(`/commands/${body.data[0].id}`);
    expect(one.body.data.attributes.parameters).toEqual({ Message: 'Lost', PIN: '********' });
    const given = await create(
      { ...document, parameters: { PIN: '123456' } },
      { devices: macs.slice(0, 1) },
    );
    expect((await attributesOf(given)).parameters).toEqual({ PIN: '********' });
    const stored = await app.db.knex('command_batches').where({ id: given }).first();
    expect(stored.parameters.toString()).not.toContain('123456');
    await worker.run();
    const audit = await app.db.knex('audit_events').orderBy('id', 'desc').first();
    expect(JSON.stringify(audit)).not.toContain('123456');
  });

  it('refuses devices that would have to do without what the command needs', async () => {
    const macs = await addDevices(app, 2, { platform: 'macOS', os_version: '15.0' });
    const document = { request_type: 'DeleteUser', parameters: { DeleteAllUsers: true } };
    const { body } = await api.post(
      '/command_batches?dry_run=true',
      batchDocument(document, { devices: macs }),
    );
    expect(body.meta.targets).toMatchObject({
      matched: 2,
      eligible: 0,
      refused: [{ code: 'unsupported_on_platform', count: 2, examples: macs }],
    });
  });

  it('leaves out the PIN for devices that have none, which keep no secret', async () => {
    const [mac = 0] = await addDevices(app, 1, { platform: 'macOS', os_version: '15.0' });
    const [pad = 0] = await addDevices(app, 1);
    const targets = {
      matched: 2,
      eligible: 2,
      reduced: 1,
      left_out: [{ name: 'PIN', count: 1, examples: [pad] }],
      refused: [],
    };
    for (const request_type of ['DeviceLock', 'EraseDevice']) {
      const document = { request_type, parameters: { PIN: '123456' } };
      const named = { devices: [mac, pad], confirm: 2 };
      const dry = await api.post('/command_batches?dry_run=true', batchDocument(document, named));
      expect(dry.body.meta.targets).toEqual(targets);
      const id = await create(document, named);
      await worker.run();
      expect((await attributesOf(id)).targets).toEqual(targets);
      const { body } = await api.get(`/command_batches/${id}/commands?sort=id&include=device`);
      const shown = new Map<number, unknown>();
      for (const { id: command, relationships } of body.data) {
        const one = await api.get(`/commands/${command}`);
        shown.set(relationships.device.data.id, one.body.data.attributes.parameters);
      }
      expect(shown).toEqual(
        new Map<number, unknown>([
          [mac, { PIN: '********' }],
          [pad, {}],
        ]),
      );
    }
    const secrets = await app.db.knex('device_secrets').orderBy('id').select('device_id', 'kind');
    expect(secrets).toEqual([
      { device_id: mac, kind: 'device_lock_pin' },
      { device_id: mac, kind: 'erase_pin' },
    ]);
  });

  it('writes values of each device into a command that has secrets, and none into a secret', async () => {
    const facts = { serial_number: 'C02', asset_tag: 'T-1' };
    const [mac = 0] = await addDevices(app, 1, { ...facts, platform: 'macOS', os_version: '15.0' });
    const [phone = 0] = await addDevices(app, 1, { ...facts, serial_number: 'F9' });
    const [unknown = 0] = await addDevices(app, 1, { serial_number: 'F8' });
    const Message = ['', 'SERIAL of ', '{ASSET_TAG}, ', '', '5'].join('$');
    const document = { request_type: 'DeviceLock', parameters: { Message } };
    const devices = [mac, phone, unknown];
    const id = await create(document, { devices, confirm: 3 });
    await worker.run();
    expect((await attributesOf(id)).targets).toMatchObject({
      eligible: 2,
      refused: [{ code: 'variable_has_no_value', count: 1, examples: [unknown] }],
    });
    const shown = async (device: number) => {
      const [row] = await app.db
        .knex('commands')
        .where({ device_id: device, command_batch_id: id });
      return (await api.get(`/commands/${row.id}`)).body.data.attributes.parameters;
    };
    expect(await shown(mac)).toEqual({ Message: 'C02 of T-1, $5', PIN: '********' });
    expect(await shown(phone)).toEqual({ Message: 'F9 of T-1, $5' });
  });

  it('clears passcodes with the token of each device', async () => {
    const device = await ManagedDevice.enroll(app);
    const token = Buffer.from('token of one');
    await device.wire.tokenUpdate({ UnlockToken: token });
    const [other = 0] = await addDevices(app, 1);
    const id = await create({ request_type: 'ClearPasscode' }, { devices: [device.id, other] });
    expect((await attributesOf(id)).targets).toMatchObject({
      eligible: 1,
      refused: [{ code: 'no_unlock_token', count: 1, examples: [other] }],
    });
    await worker.run();
    const [row, ...others] = await app.db.knex('commands').where({ command_batch_id: id });
    expect([row.device_id, row.request_type, others]).toEqual([device.id, 'ClearPasscode', []]);
  });

  it('counts Macs whose recovery key is not known as refused, unless a password is given', async () => {
    const facts = { platform: 'macOS', os_version: '15.0' };
    const [known = 0, unknown = 0] = await addDevices(app, 2, facts);
    await app.db.knex('device_secrets').insert({
      device_id: known,
      enrollment_number: 0,
      kind: 'filevault_recovery_key',
      sealed: app.box.seal(Buffer.from('A-B'), `devices/${known}/filevault_recovery_key`),
      digest: Buffer.alloc(32, 1),
    });
    const targetsOf = async (parameters: object) => {
      const document = batchDocument(
        { request_type: 'RotateFileVaultKey', parameters: { KeyType: 'personal', ...parameters } },
        { devices: [known, unknown] },
      );
      return (await api.post('/command_batches?dry_run=true', document)).body.meta.targets;
    };
    expect(await targetsOf({})).toMatchObject({
      eligible: 1,
      refused: [{ code: 'no_recovery_key', count: 1, examples: [unknown] }],
    });
    const FileVaultUnlock = { Password: 'of a user' };
    expect(await targetsOf({ FileVaultUnlock })).toMatchObject({ eligible: 2, refused: [] });
  });

  it('counts devices whose password has a change waiting as refused', async () => {
    const facts = { platform: 'macOS', os_version: '15.0', is_apple_silicon: true };
    const [waiting = 0, free = 0] = await addDevices(app, 2, facts);
    const lock = { request_type: 'SetRecoveryLock', parameters: {} };
    await create(lock, { devices: [waiting] });
    await worker.run();
    const targetsOf = async (parameters: object) => {
      const document = batchDocument({ ...lock, parameters }, { devices: [waiting, free] });
      const { body } = await api.post('/command_batches?dry_run=true', document);
      return body.meta.targets;
    };
    const refused = [{ code: 'conflict', count: 1, examples: [waiting] }];
    expect(await targetsOf({})).toMatchObject({ matched: 2, eligible: 1, refused });
    expect(await targetsOf({ CurrentPassword: 'given' })).toMatchObject({ eligible: 2 });
    const id = await create(lock, { devices: [waiting, free] });
    await worker.run();
    expect((await attributesOf(id)).targets).toMatchObject({ eligible: 1, refused });
    const { status, body } = await api.post('/commands', {
      data: {
        type: 'commands',
        attributes: lock,
        relationships: { device: { data: { type: 'devices', id: waiting } } },
      },
    });
    expect([status, body.errors[0].code]).toEqual([409, 'conflict']);
  });

  it('never removes the profile that a device enrolled with', async () => {
    const [first = 0, second = 0] = await addDevices(app, 2);
    const [profile] = await app.db
      .knex('installed_profiles')
      .insert({ device_id: first, payload_identifier: 'com.example.MDM' })
      .returning<{ id: number }[]>('id');
    await app.db
      .knex('installed_payloads')
      .insert({ installed_profile_id: profile?.id, payload_type: 'com.apple.mdm' });
    const id = await create(
      { request_type: 'RemoveProfile', parameters: { Identifier: 'com.example.mdm' } },
      { devices: [first, second], confirm: 2 },
    );
    expect((await attributesOf(id)).targets).toMatchObject({
      eligible: 1,
      refused: [{ code: 'enrolls', count: 1, examples: [first] }],
    });
    await worker.run();
    const rows = await app.db.knex('commands').where({ command_batch_id: id });
    expect(rows.map(({ device_id }) => device_id)).toEqual([second]);
    const answer = await api.post(
      '/command_batches?dry_run=true',
      batchDocument(
        { request_type: 'RemoveProfile', parameters: { Identifier: 'dev.muster.ENROLL' } },
        { devices: [second] },
      ),
    );
    expect(answer.body.meta.targets).toMatchObject({
      eligible: 0,
      refused: [{ code: 'enrolls', count: 1, examples: [second] }],
    });
  });

  it('sends the command to every user when it is for users', async () => {
    const mac = await ManagedDevice.enroll(app, { ProductName: 'Mac15,3', Model: 'Mac15,3' });
    const [anna, ben] = [await mac.signIn('anna'), await mac.signIn('ben')];
    const [lonely = 0] = await addDevices(app, 1, { platform: 'macOS', os_version: '15.0' });
    const document = { request_type: 'ActiveNSExtensions' };
    const id = await create(document, { devices: [mac.id, lonely] });
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      targets: {
        eligible: 1,
        refused: [{ code: 'no_user_channel', count: 1, examples: [lonely] }],
      },
      counts: { ...NONE, Queued: 2 },
    });
    expect(await mac.poll()).not.toContain('ActiveNSExtensions');
    expect(await anna.poll()).toEqual(['ActiveNSExtensions']);
    await ben.poll(() => ({ status: 'Error' }));
    await worker.run();
    const retry = await api.post(`/command_batches/${id}/retry_failed`);
    await worker.run();
    expect(await attributesOf(retry.body.data.id)).toMatchObject({
      targets: { matched: 1, eligible: 1 },
      counts: { ...NONE, Queued: 1 },
    });
    expect(await anna.poll()).toEqual([]);
    expect(await ben.poll()).toEqual(['ActiveNSExtensions']);
  });

  it('is spread over time', async () => {
    const devices = await addDevices(app, 4);
    await app.db
      .knex('devices')
      .whereIn('id', devices)
      .update({ sealed_push: Buffer.from('x'), push_state: 'ok' });
    const after = new Date(Date.now() + 60_000);
    const id = await create({ ...ASK, spread: 40, after }, { devices });
    await worker.run();
    const commands = await app.db.knex('commands').where({ command_batch_id: id }).orderBy('id');
    const due = [0, 10, 20, 30].map((seconds) => new Date(after.getTime() + seconds * 1_000));
    expect(commands.map((command) => command.after)).toEqual(due);
    const pushes = await app.db.knex('device_pushes').orderBy('device_id');
    expect(pushes.map(({ due_at }) => due_at)).toEqual(due);
  });

  it('is cancelled with every command that is not final', async () => {
    const devices = await addDevices(app, 4_500);
    const id = await create(ASK, { devices, confirm: 4_500 });
    await worker.run();
    await app.db
      .knex('commands')
      .where({ device_id: devices[0] })
      .update({ status: 'Acknowledged' });
    const { status, body } = await api.post(`/command_batches/${id}/cancel`);
    expect([status, body.data.attributes.state]).toEqual([200, 'cancelled']);
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'cancelled',
      counts: { ...NONE, Acknowledged: 1, Cancelled: 4_499 },
      finished_at: expect.any(String),
    });
    const again = await api.post(`/command_batches/${id}/cancel`);
    expect([again.status, again.body.errors[0].detail]).toEqual([
      409,
      `batch ${id} is cancelled: there is nothing to cancel`,
    ]);
    const early = await create(ASK, { devices, confirm: 4_500 });
    await api.post(`/command_batches/${early}/cancel`);
    await worker.run();
    expect(await attributesOf(early)).toMatchObject({ state: 'cancelled', counts: NONE });
    expect(
      await app.db.knex('commands').where({ command_batch_id: early }).first(),
    ).toBeUndefined();
  });

  it('sends no command any more once it is cancelled, including commands that are not final yet', async () => {
    const device = await ManagedDevice.enroll(app);
    await device.poll();
    const id = await create(ASK, { devices: [device.id] });
    await worker.run();
    // As the answer to the cancellation leaves those beyond the first thousands.
    await app.db.knex('command_batches').where({ id }).update({ state: 'cancelled' });
    await app.db.knex('commands').whereNull('command_batch_id').delete();
    expect(await device.poll()).toEqual([]);
    const [command] = await app.db.knex('commands').where({ command_batch_id: id });
    expect([command.status, command.sent_at]).toEqual(['Queued', null]);
  });

  it('counts commands of a device that is deleted as cancelled', async () => {
    const [one = 0, two = 0] = await addDevices(app, 2);
    const id = await create(ASK, { devices: [one, two] });
    await worker.run();
    await app.db.knex('commands').where({ device_id: one }).update({ status: 'Acknowledged' });
    expect((await api.delete(`/devices/${two}`)).status).toBe(204);
    await worker.run();
    expect(await attributesOf(id)).toMatchObject({
      state: 'finished',
      counts: { ...NONE, Acknowledged: 1, Cancelled: 1 },
    });
  });

  it('requires the role of its request type', async () => {
    const devices = await addDevices(app, 1);
    const [viewer, operator] = [await apiOf('viewer'), await apiOf('operator')];
    const ask = batchDocument(ASK, { devices });
    expect((await viewer.post('/command_batches', ask)).status).toBe(403);
    expect((await viewer.post('/command_batches?dry_run=true', ask)).status).toBe(403);
    const made = await operator.post('/command_batches', ask);
    expect(made.status).toBe(202);
    const erase = batchDocument({ request_type: 'EraseDevice' }, { devices });
    expect((await operator.post('/command_batches', erase)).status).toBe(403);
    const seen = await viewer.get(`/command_batches/${made.body.data.id}`);
    expect([seen.status, seen.body.data.attributes.created_by]).toEqual([200, 'operator']);
    for (const verb of ['cancel', 'retry_failed']) {
      const path = `/command_batches/${made.body.data.id}/${verb}`;
      expect((await viewer.post(path)).status).toBe(403);
    }
  });

  it.each([
    [{}, {}, 422, ['/data/attributes/request_type']],
    [{ request_type: 'Nonsense' }, { devices: [1] }, 422, ['/data/attributes/request_type']],
    [ASK, {}, 422, ['/data/relationships']],
    [ASK, { devices: [999_999_999] }, 404, [undefined]],
    [ASK, { tags: [999_999_999] }, 404, [undefined]],
    [{ ...ASK, filter: [] }, {}, 422, ['/data/attributes/filter']],
    [
      { ...ASK, filter: [{ name: 'nope', op: 'eq', val: 1 }] },
      {},
      422,
      ['/data/attributes/filter'],
    ],
    [{ ...ASK, spread: -1 }, { devices: [1] }, 422, ['/data/attributes/spread']],
    [{ ...ASK, after: 'soon' }, { devices: [1] }, 422, ['/data/attributes/after']],
    [
      { ...ASK, expires_at: '2020-01-01T00:00:00Z' },
      { devices: [1] },
      422,
      ['/data/attributes/expires_at'],
    ],
    [
      { request_type: 'ClearPasscode', parameters: { UnlockToken: 'AAAA' } },
      { devices: [1] },
      422,
      ['/data/attributes/parameters/UnlockToken'],
    ],
    [
      { request_type: 'ClearPasscode', parameters: { UnlockToken: '' } },
      { devices: [1] },
      422,
      ['/data/attributes/parameters/UnlockToken'],
    ],
    [
      { request_type: 'DeviceLock', parameters: { PIN: 'abc' } },
      { devices: [1] },
      422,
      ['/data/attributes/parameters/PIN'],
    ],
    [{ ...ASK, name: 'a\u0000b' }, { devices: [1] }, 422, ['/data/attributes/name']],
    [
      { ...ASK, spread: 7_200, expires_at: new Date(Date.now() + 3_600_000).toISOString() },
      { devices: [1] },
      422,
      ['/data/attributes/spread'],
    ],
    [
      { request_type: 'SetRecoveryLock', parameters: { Wrong: 1 } },
      { devices: [1] },
      422,
      ['/data/attributes/parameters/Wrong'],
    ],
  ])('refuses %j for %j', async (attributes, named, status, pointers) => {
    const answer = await api.post('/command_batches', batchDocument(attributes, named));
    const places = answer.body.errors.map(
      ({ source }: { source?: { pointer: string } }) => source?.pointer,
    );
    expect([answer.status, places]).toEqual([status, pointers]);
  });

  it.each([
    [
      { tags: { data: [{ type: 'devices', id: 1 }] } },
      ['tags.0.type must be tags', '/data/relationships/tags/data/0/type'],
    ],
    [
      {
        devices: {
          data: Array.from({ length: 10_001 }, (_, id) => ({ type: 'devices', id: id + 1 })),
        },
      },
      ['devices must have at most 10000 elements', '/data/relationships/devices/data'],
    ],
    [
      { tags: { data: [] }, groups: { data: [] } },
      [
        'relationships has no member "groups"; known: devices, tags, device_groups',
        '/data/relationships/groups',
      ],
    ],
    [{ tags: [] }, ['tags must be an object', '/data/relationships/tags']],
  ])('reports the place of a fault in relationships', async (relationships, expected) => {
    const document = { data: { type: 'command_batches', attributes: ASK, relationships } };
    const { status, body } = await api.post('/command_batches', document);
    const found = body.errors.map(({ detail, source }: never) => [
      detail,
      (source as { pointer: string }).pointer,
    ]);
    expect([status, found]).toEqual([422, [expected]]);
  });

  it('explains how a filter is written, and that there is nothing to retry', async () => {
    const filter = { platform: 'iOS' };
    const wrong = await api.post('/command_batches', batchDocument({ ...ASK, filter }));
    expect(wrong.body.errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      'filter must be an array of rules, such as [{"name": "platform", "op": "eq", "val": "iOS"}]; several must all hold',
    ]);
    const devices = await addDevices(app, 1);
    const { body } = await api.post('/command_batches', batchDocument(ASK, { devices }));
    await worker.run();
    const again = await api.post(`/command_batches/${body.data.id}/retry_failed`);
    const [{ code, detail }] = again.body.errors;
    expect([again.status, code, detail]).toEqual([
      422,
      'no_eligible_device',
      'no command of the batch has failed so far: there is nothing to retry',
    ]);
  });

  it('must be confirmed by the number of eligible devices', async () => {
    const devices = await addDevices(app, 600);
    const tag = await tagDevices(app, 'many', devices);
    const first = await api.post('/command_batches', batchDocument(ASK, { tags: [tag] }));
    expect([first.status, first.body.errors[0].meta.confirm]).toEqual([409, 600]);
    const low = await api.post(
      '/command_batches',
      batchDocument(ASK, { tags: [tag], confirm: 599 }),
    );
    expect(low.status).toBe(409);
    expect(await app.db.knex('command_batches').first()).toBeUndefined();
    const query = await api.post(
      '/command_batches?confirm=600',
      batchDocument(ASK, { tags: [tag] }),
    );
    expect(query.status).toBe(202);
    expect(
      (await api.post('/command_batches', batchDocument(ASK, { tags: [tag], confirm: 5_000 })))
        .status,
    ).toBe(202);
  });
});
