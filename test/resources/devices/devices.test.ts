import { randomUUID } from 'node:crypto';
import request from 'supertest';
import type { ResourceDefinition } from '../../../src/jsonapi/definition/definition.js';
import { devices } from '../../../src/resources/devices/devices.js';
import { sampleAttributes } from '../../conformance/samples.js';
import { createTestApi, type TestApi } from '../../jsonapi/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi();
});
afterAll(() => api.close());

async function insert(values: Record<string, unknown>): Promise<number> {
  const rows = await api.knex('devices').insert(values).returning('id');
  return rows[0].id;
}

function patch(id: number, attributes: Record<string, unknown>) {
  return request(api.app)
    .patch(`/api/v1/devices/${id}`)
    .send({ data: { type: 'devices', id, attributes } });
}

describe('renaming a device', () => {
  it('changes the column of one that is not enrolled', async () => {
    const id = await insert({ device_name: 'old', platform: 'macOS' });
    const response = await patch(id, { device_name: 'new', hostname: 'new.local' });
    expect(response.status).toBe(200);
    expect(response.body.meta).toBeUndefined();
    expect(response.body.data.attributes).toMatchObject({
      device_name: 'new',
      hostname: 'new.local',
    });
  });

  it('queues a Settings command for one that is, and leaves the column', async () => {
    const id = await insert({ device_name: 'old', platform: 'macOS', is_enrolled: true });
    const response = await patch(id, { device_name: 'new', asset_tag: 'A-1' });
    expect(response.status).toBe(200);
    expect(response.body.data.attributes).toMatchObject({ device_name: 'old', asset_tag: 'A-1' });
    const [command] = await api.knex('commands').where({ device_id: id });
    expect(command).toMatchObject({ request_type: 'Settings', status: 'Queued' });
    expect(response.body.meta).toEqual({ queued_commands: [command.id] });
    const { details } = await api.knex('audit_events').orderBy('id', 'desc').first();
    const Settings = [{ Item: 'DeviceName', DeviceName: 'new' }];
    expect(details).toEqual({
      changes: { asset_tag: [null, 'A-1'] },
      commands: [{ id: command.id, request_type: 'Settings', parameters: { Settings } }],
    });
  });

  it.each([
    { platform: 'macOS', device_name: 'old', hostname: null },
    { platform: 'iOS', device_name: null, hostname: null, is_supervised: false },
    { platform: 'iOS', device_name: 'old', hostname: 'reported', is_supervised: false },
  ])('sends nothing to one that has the names already: %j', async (row) => {
    const id = await insert({ ...row, is_enrolled: true });
    const path = `/api/v1/devices/${id}`;
    const read = await request(api.app).get(path);
    const { data } = read.body;
    data.attributes.asset_tag = 'A-1';
    const response = await request(api.app).patch(path).send({ data });
    expect([response.status, response.body.meta]).toEqual([200, undefined]);
    expect(response.body.data).toEqual(data);
    expect(await api.knex('commands').where({ device_id: id })).toEqual([]);
  });

  it('sends only the name that is new', async () => {
    const id = await insert({ device_name: 'old', platform: 'macOS', is_enrolled: true });
    await patch(id, { device_name: 'old', hostname: 'new.local' });
    const [{ id: commandId }] = await api.knex('commands').where({ device_id: id });
    const { body } = await request(api.app).get(`/api/v1/commands/${commandId}`);
    expect(body.data.attributes.parameters).toEqual({
      Settings: [{ Item: 'HostName', HostName: 'new.local' }],
    });
  });

  it('is refused when the platform cannot be renamed, and changes nothing else', async () => {
    const id = await insert({ platform: 'iOS', is_enrolled: true, is_supervised: true });
    const response = await patch(id, { hostname: 'new.local', asset_tag: 'A-1' });
    expect([response.status, response.body.errors[0]]).toEqual([
      422,
      expect.objectContaining({
        code: 'unsupported_on_platform',
        source: { pointer: '/data/attributes/hostname' },
      }),
    ]);
    expect(await api.knex('devices').where({ id }).first()).toMatchObject({ asset_tag: null });
  });
});

describe('creating a device', () => {
  it('accepts every attribute that is no secret, including protocol state', async () => {
    const attributes = {
      udid: 'A1B2',
      is_enrolled: true,
      enrollment_state: 'enrolled',
      last_seen: '2026-03-26T23:42:09+00:00',
      languages: ['de', 'en'],
      device_capacity: 63.5,
    };
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { type: 'devices', attributes } });
    expect(response.status).toBe(201);
    expect(response.body.data.attributes).toMatchObject(attributes);
    expect(JSON.stringify(response.body)).not.toContain('sealed');
  });

  it('accepts every attribute except those that the server maintains and counts', async () => {
    const definition = devices as ResourceDefinition;
    const attributes = sampleAttributes(definition, 21);
    const maintained = ['health', 'pending_commands', 'inventory_queued_at'];
    expect(new Set([...Object.keys(attributes), ...maintained])).toEqual(
      new Set(Object.keys(definition.attributes)),
    );
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { type: 'devices', attributes } });
    expect(response.status).toBe(201);
    const shown = Object.entries(response.body.data.attributes as object);
    expect(shown.filter(([, value]) => value === null)).toEqual([
      ['health', null],
      // The sample is not enrolled.
      ['inventory_queued_at', null],
    ]);
  });

  it('refuses a UDID that exists in another case with 409 naming the attribute', async () => {
    await insert({ udid: 'C3D4' });
    const response = await request(api.app)
      .post('/api/v1/devices')
      .send({ data: { type: 'devices', attributes: { udid: 'c3d4' } } });
    expect([response.status, response.body.errors[0]]).toEqual([
      409,
      expect.objectContaining({
        code: 'already_exists',
        source: { pointer: '/data/attributes/udid' },
      }),
    ]);
  });
});

describe('the relationships in a document of a device', () => {
  const command = (id: number) => ({ commands: { data: [{ type: 'commands', id }] } });

  it('are refused where they are written by their own path', async () => {
    const created = await request(api.app)
      .post('/api/v1/devices')
      .send({
        data: { type: 'devices', attributes: { udid: 'E5F6' }, relationships: command(1) },
      });
    expect([created.status, created.body.errors]).toMatchObject([
      422,
      [
        {
          code: 'validation_failed',
          source: { pointer: '/data/relationships/commands' },
          detail: expect.stringContaining('/devices/{id}/relationships/commands'),
        },
      ],
    ]);
    const id = await insert({ model: 'a' });
    const [application] = await api
      .knex('installed_applications')
      .insert({ device_id: id, name: 'Draughts' })
      .returning('id');
    const identifier = { type: 'installed_applications', id: application.id };
    const send = (data: object[]) =>
      request(api.app)
        .patch(`/api/v1/devices/${id}`)
        .send({
          data: {
            type: 'devices',
            attributes: { asset_tag: 'A-1' },
            relationships: { installed_applications: { data } },
          },
        });
    const patched = await send([]);
    expect([patched.status, patched.body.errors]).toMatchObject([
      422,
      [
        {
          source: { pointer: '/data/relationships/installed_applications' },
          detail: expect.stringContaining(`/devices/${id}/relationships/installed_applications`),
        },
      ],
    ]);
    expect(await api.knex('devices').where({ id }).first()).toMatchObject({ asset_tag: null });
    expect((await send([identifier])).status).toBe(200);
  });
});

describe('finding devices', () => {
  it('ignores the case of a UDID and keeps it as it was sent', async () => {
    const id = await insert({ udid: 'aBcD-1' });
    const filter = JSON.stringify([{ name: 'udid', op: 'in_', val: ['ABCD-1'] }]);
    for (const query of [{ 'filter[udid]': 'AbCd-1' }, { filter }]) {
      const { body } = await request(api.app).get('/api/v1/devices').query(query);
      expect(body.data).toMatchObject([{ id, attributes: { udid: 'aBcD-1' } }]);
    }
  });

  it('reaches over relationships', async () => {
    const id = await insert({ serial_number: 'REL' });
    const [tag] = await api.knex('tags').insert({ name: 'lab' }).returning('id');
    await api.knex('device_tags').insert({ device_id: id, tag_id: tag.id });
    await api.knex('installed_applications').insert({ device_id: id, name: 'Chess' });
    const queries = [
      [{ name: 'tags', op: 'any', val: { name: 'name', op: 'ilike', val: 'L%' } }],
      [{ name: 'tags__name', op: 'eq', val: 'lab' }],
      [{ not: { not: { name: 'installed_applications__name', op: 'contains', val: 'hes' } } }],
      [
        {
          or: [
            { name: 'tags__name', op: 'eq', val: 'none' },
            { name: 'serial_number', op: 'eq', val: 'REL' },
          ],
        },
      ],
    ];
    for (const rules of queries) {
      const query = { filter: JSON.stringify(rules) };
      const { body } = await request(api.app).get('/api/v1/devices').query(query);
      expect(body.data).toMatchObject([{ id }]);
    }
    const has = [
      { name: 'device', op: 'has', val: { name: 'serial_number', op: 'eq', val: 'REL' } },
    ];
    const { body } = await request(api.app)
      .get('/api/v1/installed_applications')
      .query({ filter: JSON.stringify(has) });
    expect(body.data).toMatchObject([{ attributes: { name: 'Chess' } }]);
  });

  it('combines repeated filter[] parameters with and', async () => {
    await insert({ serial_number: 'AND', model: 'one' });
    const id = await insert({ serial_number: 'AND', model: 'two' });
    const rule = (name: string, val: string) =>
      `filter[]=${encodeURIComponent(JSON.stringify({ name, op: 'eq', val }))}`;
    const { body } = await request(api.app).get(
      `/api/v1/devices?${rule('serial_number', 'AND')}&${rule('model', 'two')}`,
    );
    expect(body.data).toMatchObject([{ id }]);
  });

  it('compares two fields of a device', async () => {
    const id = await insert({ device_name: 'same-7', hostname: 'same-7' });
    const filter = JSON.stringify([{ name: 'device_name', op: 'eq', field: 'hostname' }]);
    const { body } = await request(api.app).get('/api/v1/devices').query({ filter });
    expect(body.data).toMatchObject([{ id }]);
  });
});

describe('deleting a device', () => {
  const fingerprint = Buffer.alloc(32, 7);

  async function insertOf(id: number): Promise<void> {
    const device_id = id;
    const sealed = Buffer.from('sealed');
    const uuid = randomUUID();
    const { knex } = api;
    const identity = { fingerprint, device_id, state: 'active', udid: 'GONE' };
    await knex('device_identities').insert(identity);
    const [tag] = await knex('tags').insert({ name: 'of the gone' }).returning('id');
    const [group] = await knex('device_groups').insert({ name: 'of the gone' }).returning('id');
    const [assigned] = await knex('profiles')
      .insert({ identifier: 'x', uuid: 'x', version: 1, holds_secrets: false, is_signed: false })
      .returning('id');
    const device_group_id = group.id;
    const [batch] = await knex('command_batches')
      .insert({ request_type: 'ProfileList', parameters: sealed, matched: 1, created_by: 'admin' })
      .returning('id');
    const [account] = await knex('dep_accounts').insert({}).returning('id');
    const kind = 'unlock_token';
    const rows: Record<string, object> = {
      device_users: { device_id, user_key: 'u' },
      device_secrets: { device_id, enrollment_number: 1, kind, sealed },
      device_tags: { device_id, tag_id: tag.id },
      device_group_devices: { device_id, device_group_id },
      commands: { device_id, uuid, request_type: 'ProfileList', payload: sealed },
      unknown_reports: { device_id, command_uuid: uuid, status: 'Idle', sealed_report: sealed },
      installed_applications: { device_id, name: 'Chess' },
      installed_certificates: { device_id, x509_cn: 'Chess' },
      available_os_updates: { device_id, version: '15' },
      managed_applications: { device_id, identifier: 'org.example.app' },
      installed_provisioning_profiles: { device_id, profile_uuid: uuid },
      device_findings: { device_id, code: 'silent', severity: 'attention', since: new Date() },
      device_clocks: {
        ...{ device_id, offset_seconds: 7200, noticed_at: new Date(), measured_at: new Date() },
      },
      custom_attributes: { device_id, name: 'room', value: '2' },
      local_users: { device_id, user_name: 'ada' },
      device_locations: { device_id, latitude: 1, longitude: 2 },
      device_pushes: { device_id, due_at: new Date() },
      device_setups: { device_id, enrollment_number: 1, due_at: new Date() },
      device_changes: {
        ...{ device_id, kind: 'attribute', change: 'changed', attribute: 'os_version' },
        cause: 'report',
      },
      former_enrollments: { device_id, enrollment_number: 1, end_reason: 'merged' },
      enrollment_requests: { device_id, method: 'ota', expires_at: new Date() },
      identity_renewals: { device_id, fingerprint, next_attempt_at: new Date() },
      dep_devices: { device_id, dep_account_id: account.id, serial_number: 'GONE' },
      assignments: { device_id, profile_id: assigned.id },
      device_items: {
        ...{ device_id, item_key: 'profile:x', identifier: 'x', profile_id: assigned.id },
        ...{ enrollment_number: 1, state: 'pending' },
      },
      device_reconciliations: { device_id },
      command_batch_devices: { device_id, command_batch_id: batch.id },
      device_group_changes: { device_id, device_group_id },
      device_group_timers: { device_id, device_group_id, due_at: new Date() },
      device_group_unknown_devices: { device_id, device_group_id },
      group_flaps: { device_id, device_group_id, until: new Date() },
    };
    for (const [table, row] of Object.entries(rows)) await knex(table).insert(row);
    // The enrollment made its own. Of every other table, the columns besides this one may be left out.
    const own = [
      ...Object.keys(rows),
      'device_inventories',
      'device_contacts',
      'device_identities',
      'installed_profiles',
    ];
    const others = (await tablesOfDevices()).filter((table) => !own.includes(table));
    for (const table of others) await knex(table).insert({ device_id });
    const [profile] = await knex('installed_profiles').insert({ device_id }).returning('id');
    await knex('installed_payloads').insert({ installed_profile_id: profile.id });
  }

  /** Every table that points to devices, as the database itself knows them. */
  async function tablesOfDevices(): Promise<string[]> {
    const { rows } = await api.knex.raw(
      `select conrelid::regclass::text as name from pg_constraint
       where confrelid = 'devices'::regclass and contype = 'f' order by 1`,
    );
    return rows.map(({ name }: { name: string }) => name);
  }

  it('deletes its rows and leaves a tombstone for its identity', async () => {
    const before = Date.now() - 1000;
    const id = await insert({ udid: 'GONE', is_enrolled: true });
    const other = await insert({ udid: 'STAYS' });
    await api.knex('installed_applications').insert({ device_id: other, name: 'Chess' });
    await insertOf(id);
    const tables = await tablesOfDevices();
    for (const table of tables) {
      const rows = await api.knex(table).where({ device_id: id });
      expect([table, rows.length]).toEqual([table, 1]);
    }
    expect((await request(api.app).delete(`/api/v1/devices/${id}`)).status).toBe(204);
    for (const table of tables) {
      expect([table, await api.knex(table).where({ device_id: id })]).toEqual([table, []]);
    }
    expect(await api.knex('installed_payloads')).toEqual([]);
    expect(await api.knex('installed_applications').where({ device_id: other })).toHaveLength(1);
    const [identity] = await api.knex('device_identities').where({ fingerprint });
    expect(identity).toMatchObject({ state: 'tombstone', device_id: null, udid: 'GONE' });
    expect(identity.changed_at.getTime()).toBeGreaterThan(before);
    const lines = await api.knex('audit_events').where({ action: 'devices.delete' });
    expect(lines).toMatchObject([{ target_id: String(id), outcome: 'success', actor: 'tester' }]);
  });

  it('answers 404 the second time, without an audit line', async () => {
    const id = await insert({ udid: 'ONCE' });
    expect((await request(api.app).delete(`/api/v1/devices/${id}`)).status).toBe(204);
    const again = await request(api.app).delete(`/api/v1/devices/${id}`);
    expect([again.status, again.body.errors[0].code]).toEqual([404, 'not_found']);
    expect(await api.knex('audit_events').where({ target_id: String(id) })).toHaveLength(1);
  });

  const remove = (id: number, role: string) =>
    request(api.app).delete(`/api/v1/devices/${id}`).set('X-Role', role);

  it('requires the role admin once a secret would be lost with it', async () => {
    const id = await insert({ udid: 'ESCROW' });
    const secret = { device_id: id, enrollment_number: 1, sealed: Buffer.of(1) };
    const kinds = ['filevault_recovery_key', 'device_lock_pin', 'device_lock_pin', 'unlock_token'];
    await api.knex('device_secrets').insert(kinds.map((kind) => ({ ...secret, kind })));
    const refused = await remove(id, 'operator');
    expect([refused.status, refused.body.errors[0].code]).toEqual([403, 'forbidden']);
    expect(refused.body.errors[0].detail).toBe(
      `device ${id} has secrets that would be deleted with it (device_lock_pin, ` +
        'filevault_recovery_key): deleting it needs the role admin',
    );
    expect(await api.knex('device_secrets').where({ device_id: id })).toHaveLength(4);
    expect((await remove(id, 'admin')).status).toBe(204);
  });

  it('is open to operators while only tokens, or removed values, go with it', async () => {
    const id = await insert({ udid: 'TOKENS' });
    const secret = { device_id: id, enrollment_number: 1 };
    await api.knex('device_secrets').insert([
      { ...secret, kind: 'unlock_token', sealed: Buffer.of(1) },
      { ...secret, kind: 'bootstrap_token', sealed: Buffer.of(1) },
      { ...secret, kind: 'firmware_password', sealed: Buffer.alloc(0) },
    ]);
    expect((await remove(id, 'operator')).status).toBe(204);
  });

  it('requires the role operator', async () => {
    const id = await insert({ udid: 'KEPT' });
    const refused = await request(api.app).delete(`/api/v1/devices/${id}`).set('X-Role', 'viewer');
    expect(refused.status).toBe(403);
    expect(await api.knex('devices').where({ id })).toHaveLength(1);
  });
});
