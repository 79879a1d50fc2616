import { lockDevices } from '../../src/db/assignments/marks.js';
import { reconcileItems } from '../../src/db/assignments/reconcile.js';
import { buildPlistNodes, type PlistNode } from '../../src/protocol/plist/plist.js';
import { uploadNodes } from '../api/profile-samples.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn } from '../helpers/device.js';
import { statementsOf } from '../helpers/statements.js';
import { dumpRows, spellingsOf } from '../mdm/rows.js';
import { dict, payload, profile } from '../profiles/sample-profiles.js';
import { itemsOf, ManagedDevice, reconcilerOf } from './assignment-fixture.js';

let app: TestApp;
let reconciler: ReturnType<typeof reconcilerOf>;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
  reconciler = reconcilerOf(app);
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const table of ['devices', 'profiles', 'profile_secrets', 'enrollment_users']) {
    await app.db.knex(table).delete();
  }
  await reconciler.run();
});

async function reconcile(): Promise<void> {
  await app.waitForReports();
  await reconciler.run();
}

async function enrolled(facts: Record<string, string> = {}): Promise<ManagedDevice> {
  const device = await ManagedDevice.enroll(app);
  await device.poll();
  await reconcile();
  await setFacts(device, facts);
  device.carriedOut.length = 0;
  return device;
}

async function setFacts({ id }: ManagedDevice, facts: Record<string, string>): Promise<void> {
  if (Object.keys(facts).length > 0) await app.db.knex('devices').where({ id }).update(facts);
}

/** A profile with this value, assigned to all devices. */
async function assigned(value: PlistNode, identifier?: string) {
  const members = identifier === undefined ? {} : { PayloadIdentifier: identifier };
  const nodes = profile([payload('com.example.app', { Value: value })], members);
  const uploaded = await uploadNodes(app, nodes);
  expect(uploaded.status).toBe(201);
  const id = Number(uploaded.body.data.id);
  if (identifier === undefined || uploaded.body.data.attributes.current_version === 1) {
    await app.db.knex('assignments').insert({ profile_id: id, all_devices: true });
  }
  await reconcile();
  return { id, nodes };
}

async function addSecret(name: string, value: string): Promise<number> {
  const attributes = { name, value };
  const document = { data: { type: 'profile_secrets', attributes } };
  const { status, body } = await adminApi(app).post('/profile_secrets', document);
  expect(status).toBe(201);
  return body.data.id;
}

async function changeSecret(id: number, value: string): Promise<void> {
  const document = { data: { type: 'profile_secrets', id, attributes: { value } } };
  expect((await adminApi(app).patch(`/profile_secrets/${id}`, document)).status).toBe(200);
}

/** The value that the device has installed. */
function valueOn(device: ManagedDevice): unknown {
  const [content] = [...device.profiles.values()];
  const [first] = (content?.PayloadContent ?? []) as Record<string, unknown>[];
  return first?.Value;
}

async function itemOf({ id }: ManagedDevice) {
  return await app.db.knex('device_items').where({ device_id: id }).first();
}

async function verifiedOn(device: ManagedDevice): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await reconcile();
    await device.poll();
  }
  await reconcile();
  expect(await itemsOf(app, device)).toMatchObject([{ state: 'verified', reason_code: null }]);
}

describe('a device without a value for a variable', () => {
  it('is sent nothing, shows the missing values, and gets the profile once it has them', async () => {
    const device = await enrolled({ device_name: 'Ada' });
    await assigned('$ASSET_TAG $DEVICE_NAME $SECRET_none');
    expect(await device.poll()).toEqual([]);
    expect(await itemOf(device)).toMatchObject({
      state: 'pending',
      reason_code: 'variable_has_no_value',
      reason: 'no value for $ASSET_TAG, $SECRET_none; installed once there is one',
      command_id: null,
    });
    await setFacts(device, { asset_tag: 'A-1' });
    await reconcile();
    expect(await device.poll()).toEqual([]);
    expect(await itemOf(device)).toMatchObject({
      state: 'pending',
      reason: 'no value for $SECRET_none; installed once there is one',
    });
    await addSecret('none', 's3cret');
    await verifiedOn(device);
    expect(valueOn(device)).toBe('A-1 Ada s3cret');
  });

  it('waits for a custom attribute, and gets the profile again with each value of it', async () => {
    const device = await enrolled();
    await assigned('Room $ATTRIBUTE_room');
    expect(await itemOf(device)).toMatchObject({
      state: 'pending',
      reason: 'no value for $ATTRIBUTE_room; installed once there is one',
    });
    const attribute = { device_id: device.id, name: 'room' };
    const { knex } = app.db;
    await knex('custom_attributes').insert({ ...attribute, name: 'Room', value: 'another' });
    await knex('custom_attributes').insert({ ...attribute, value: '<2.14>' });
    await verifiedOn(device);
    expect(valueOn(device)).toBe('Room <2.14>');
    await knex('custom_attributes').where(attribute).update({ value: '2.15' });
    await verifiedOn(device);
    expect(valueOn(device)).toBe('Room 2.15');
    await knex('custom_attributes').where(attribute).delete();
    await reconcile();
    expect(await itemOf(device)).toMatchObject({ reason_code: 'variable_has_no_value' });
  });

  it('is no longer sent a command that waits', async () => {
    const device = await enrolled({ asset_tag: 'A-1' });
    await assigned('$ASSET_TAG');
    expect(await itemOf(device)).toMatchObject({ action: 'install' });
    await setFacts(device, { asset_tag: '' });
    await reconcile();
    expect(await device.poll()).toEqual([]);
    expect(await itemOf(device)).toMatchObject({ reason_code: 'variable_has_no_value' });
    const commands = await app.db.knex('commands').whereNotNull('payload_values').select('status');
    expect(commands).toEqual([{ status: 'Cancelled' }]);
  });
});

describe('a profile with variables', () => {
  it('is sent with exactly these bytes, which the device confirms by the derived PayloadUUID', async () => {
    const device = await enrolled({ device_name: 'Zoë\'s <Mac> & "co"', serial_number: 'C02ÄB' });
    const { nodes } = await assigned(dict({ $SERIAL: [`\${DEVICE_NAME} $$SERIAL`, 1n] }));
    const offered = commandIn(await device.wire.idle());
    const { payload_uuid } = await itemOf(device);
    const [inner] = nodes.get('PayloadContent') as Map<string, PlistNode>[];
    const expected = new Map(nodes);
    const value = dict({ $SERIAL: ['Zoë\'s <Mac> & "co" $SERIAL', 1n] });
    expected.set('PayloadUUID', payload_uuid);
    expected.set('PayloadContent', [new Map(inner ?? []).set('Value', value)]);
    expect(offered?.command.RequestType).toBe('InstallProfile');
    const sent = offered?.command.Payload as Buffer;
    expect(sent.toString()).toBe(buildPlistNodes(expected).toString());
    expect(sent.toString()).toContain('Zoë\'s &lt;Mac&gt; &amp; "co" $SERIAL');
    await device.wire.report(offered?.uuid ?? '', 'Acknowledged');
    device.profiles.set('x', {
      PayloadIdentifier: nodes.get('PayloadIdentifier') as string,
      PayloadUUID: payload_uuid,
    });
    await verifiedOn(device);
  });

  it('is delivered in one statement, with its secret', async () => {
    const device = await enrolled({ asset_tag: 'A' });
    await addSecret('wifi', 'one');
    await assigned('$ASSET_TAG $SECRET_wifi');
    let offered: ReturnType<typeof commandIn>;
    const statements = await statementsOf(app.db, async () => {
      offered = commandIn(await device.wire.idle());
    });
    expect(offered?.command.RequestType).toBe('InstallProfile');
    expect(statements.filter((sql) => !/last_seen = greatest/.test(sql))).toHaveLength(1);
  });

  it('has another PayloadUUID for other values, and the same inner ones', async () => {
    const devices = [
      await enrolled({ asset_tag: 'A' }),
      await enrolled({ asset_tag: 'B' }),
      await enrolled({ asset_tag: 'B' }),
    ];
    await assigned('$ASSET_TAG');
    const uuids: string[] = [];
    for (const device of devices) {
      await verifiedOn(device);
      const [content] = [...device.profiles.values()];
      const payloads = (content?.PayloadContent ?? []) as { PayloadUUID: string }[];
      expect((await itemOf(device)).payload_uuid).toBe(content?.PayloadUUID);
      uuids.push(String(content?.PayloadUUID), String(payloads[0]?.PayloadUUID));
    }
    const [a, inA, b, inB, c] = uuids;
    expect([a === b, b === c, inA === inB]).toEqual([false, true, true]);
  });

  it('names the person of the account that enrolled the device', async () => {
    const account = 'ada@example.com';
    const user = { account, full_name: 'Ada Lovelace', password_hash: 'x' };
    const [{ id }] = await app.db.knex('enrollment_users').insert(user, 'id');
    const device = await enrolled({ managed_apple_account: 'Ada@example.com' });
    await assigned('$USER_NAME <$USER_EMAIL>');
    await verifiedOn(device);
    expect(valueOn(device)).toBe('Ada Lovelace <Ada@example.com>');
    await app.db.knex('enrollment_users').where({ id }).update({ full_name: 'Ada King' });
    await verifiedOn(device);
    expect(valueOn(device)).toBe('Ada King <Ada@example.com>');
  });

  it('is installed again after a rename only where it has $DEVICE_NAME', async () => {
    const device = await enrolled({ device_name: 'Old', asset_tag: 'A' });
    await assigned('$ASSET_TAG');
    await verifiedOn(device);
    await setFacts(device, { device_name: 'New' });
    expect(await app.db.knex('reconcile_marks')).toEqual([]);
    await assigned('$DEVICE_NAME');
    await reconcile();
    await device.poll();
    await reconcile();
    device.carriedOut.length = 0;
    await setFacts(device, { device_name: 'Newer' });
    await reconcile();
    const types = await device.poll();
    expect(types.filter((type) => type === 'InstallProfile')).toHaveLength(1);
    const values = [...device.profiles.values()].map(
      ({ PayloadContent: payloads }) => (payloads as { Value: string }[])[0]?.Value,
    );
    expect(values).toEqual(['A', 'Newer']);
  });

  it('stays literal when it was uploaded before variables existed', async () => {
    const device = await enrolled({ asset_tag: 'A' });
    const nodes = profile([payload('com.example.app', { Value: '$ASSET_TAG $$' })]);
    const { body } = await uploadNodes(app, nodes);
    const earlier = { is_rendered: false, variables: [] };
    await app.db.knex('profile_versions').update(earlier);
    await app.db.knex('assignments').insert({ profile_id: body.data.id, all_devices: true });
    await verifiedOn(device);
    expect(valueOn(device)).toBe('$ASSET_TAG $$');
  });

  it('is cancelled when a value fits into no property list, and the item says so', async () => {
    const device = await enrolled({ asset_tag: 'A\u0001' });
    await assigned('$ASSET_TAG');
    expect(await device.poll()).toEqual([]);
    await reconcile();
    expect(await itemOf(device)).toMatchObject({
      state: 'pending',
      reason_code: 'command_failed',
      reason: expect.stringContaining('a value does not fit into a property list'),
    });
  });
});

describe('2,000 devices with values of their own', () => {
  it('are reconciled in one statement, and each gets its own values', async () => {
    await app.db.knex.raw(`
      insert into devices (udid, serial_number, is_enrolled, enrollment_state, enrollment_number)
      select 'LOAD-' || n, 'S' || n, true, 'enrolled', 1 from generate_series(1, 2000) n`);
    await reconcile();
    const nodes = profile([payload('com.example.app', { Value: '$SERIAL' })]);
    const { body } = await uploadNodes(app, nodes);
    await app.db.knex('assignments').insert({ profile_id: body.data.id, all_devices: true });
    const ids: number[] = await app.db.knex('devices').orderBy('id').pluck('id');
    const statements: string[] = [];
    const note = ({ sql }: { sql: string }) => statements.push(sql);
    const trx = await app.db.knex.transaction();
    await lockDevices(trx, ids);
    app.db.knex.on('query', note);
    await reconcileItems(trx, { deviceIds: ids, maxRemovals: 20 });
    app.db.knex.removeListener('query', note);
    expect(statements.filter((sql) => !sql.startsWith('set local '))).toHaveLength(1);
    const items = trx('device_items').where({ state: 'pending', action: 'install' });
    const [counts] = await items.select(
      trx.raw('count(*)::integer as items, count(distinct payload_uuid)::integer as uuids'),
    );
    expect(counts).toEqual({ items: 2000, uuids: 2000 });
    // Without their commands the items can't be stored.
    await trx.rollback();
    await reconcile();
    const { rows } = await app.db.knex.raw(`
      select count(*)::integer as count from commands c join devices d on d.id = c.device_id
      join device_items i on i.command_id = c.id
      where c.payload_values = jsonb_build_object('uuid', i.payload_uuid,
        'values', jsonb_build_object('SERIAL', d.serial_number))`);
    expect(rows).toEqual([{ count: 2000 }]);
  });
});

describe('a secret of profiles', () => {
  it('is installed again when it has another value, and only then', async () => {
    const device = await enrolled();
    const id = await addSecret('wifi', 'one');
    await assigned(`key: \${SECRET_wifi}`);
    await verifiedOn(device);
    expect(valueOn(device)).toBe('key: one');
    device.carriedOut.length = 0;
    await changeSecret(id, 'one');
    await reconcile();
    expect(await device.poll()).toEqual([]);
    await changeSecret(id, 'two');
    await verifiedOn(device);
    expect(valueOn(device)).toBe('key: two');
    expect(device.carriedOut.filter((type) => type === 'InstallProfile')).toHaveLength(1);
  });

  it.each<[string, (id: number) => Promise<unknown>, string]>([
    ['deleted', (id) => adminApi(app).delete(`/profile_secrets/${id}`), 'variable_has_no_value'],
    ['changed', (id) => changeSecret(id, 'two'), ''],
  ])('that is %s cancels the command that waits, which says why', async (_what, change, code) => {
    const device = await enrolled();
    const id = await addSecret('wifi', 'one');
    await assigned('$SECRET_wifi');
    await change(id);
    // Before the reconciler sees it.
    expect(await device.poll()).toEqual([]);
    const command = await app.db.knex('commands').whereNotNull('payload_values').first();
    expect(command).toMatchObject({
      status: 'Cancelled',
      reason: 'variable_has_no_value: $SECRET_wifi was deleted or changed meanwhile',
      sent_at: null,
      attempts: 0,
    });
    await reconcile();
    expect((await itemOf(device)).reason_code ?? '').toBe(code);
    expect(await device.poll()).toEqual(code === '' ? ['InstallProfile'] : []);
    expect(valueOn(device)).toBe(code === '' ? 'two' : undefined);
  });

  it('stands in no row and in no line of the log while it is sent', async () => {
    const secret = 'the-words-that-only-devices-get-42';
    const device = await enrolled();
    await addSecret('words', secret);
    await assigned('text $SECRET_words text');
    await verifiedOn(device);
    expect(valueOn(device)).toBe(`text ${secret} text`);
    const rows = JSON.stringify(await dumpRows(app.db));
    expect(rows).toContain('SECRET_words');
    for (const spelling of [secret, ...spellingsOf(Buffer.from(secret))]) {
      expect(rows).not.toContain(spelling);
      expect(app.logText()).not.toContain(spelling);
    }
  });
});

describe('the command of a profile with variables', () => {
  it('shows its values without secrets, and moves to no other device', async () => {
    const device = await enrolled({ asset_tag: 'A' });
    const other = await enrolled();
    await addSecret('wifi', 'one');
    await assigned('$ASSET_TAG $SECRET_wifi');
    const { command_id: id, payload_uuid } = await itemOf(device);
    const { body } = await adminApi(app).get(`/commands/${id}`);
    expect(body.data.attributes.parameters).toEqual({
      Payload: {
        PayloadIdentifier: expect.any(String),
        PayloadUUID: payload_uuid,
        variables: { ASSET_TAG: 'A', SECRET_wifi: '********' },
      },
    });
    const linkage = { data: [{ type: 'commands', id }] };
    const moved = await adminApi(app).post(`/devices/${other.id}/relationships/commands`, linkage);
    expect([moved.status, moved.body.errors[0].detail]).toEqual([
      409,
      `command ${id} installs a profile with values of device ${device.id}; ` +
        'assign the profile to the other device',
    ]);
  });
});
