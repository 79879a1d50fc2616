import { randomUUID } from 'node:crypto';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, identityOf } from '../../crypto/identities.js';
import {
  askAs,
  askToEnroll,
  type DepTestServer,
  MACHINE,
  signedBy,
  startDepTestServer,
} from '../../dep/asking-device.js';
import { addAccount, addListed, addProfile } from '../../dep/devices/listed-devices.js';
import { deviceKeys } from '../../helpers/device.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';

const SERIAL = 'C02PROGRAM1';
let dep: DepTestServer;

beforeAll(async () => {
  dep = await startDepTestServer({ isSweeping: false, env: { ADE_ONLY_KNOWN: 'on' } });
});
afterAll(async () => {
  await dep.app.stop();
  removeTemporaryDirectories();
});
afterEach(async () => {
  for (const table of ['enrollment_requests', 'devices', 'dep_profiles', 'dep_accounts'])
    await knex()(table).delete();
});

const knex = () => dep.app.db.knex;
const listed = async (row: object = {}) =>
  (await addListed(knex(), { dep_account_id: await account(), serial_number: SERIAL, ...row })).id;
const account = () => addAccount(knex());
const rowOf = (id: number) => knex()('dep_devices').where({ id }).first();
const requests = async () => (await knex()('enrollment_requests')).length;

describe('a device in Automated Device Enrollment', () => {
  it('is shown as contacted at its account, and its former refusal is cleared', async () => {
    const assigned = { profile_uuid: randomUUID(), profile_assign_time: new Date(0) };
    const last_error_at = new Date();
    const last_error = 'enrollment: refused: x';
    const rows = [
      await listed({ ...assigned, profile_status: 'pushed', last_error, last_error_at }),
      await listed({ last_error: 'disown: FAILED', last_error_at }),
      await listed({ removed_at: new Date(), last_error, last_error_at }),
      await listed({ serial_number: 'C02OTHER', last_error, last_error_at }),
    ];
    const before = await Promise.all(rows.map(rowOf));
    expect(before.map(({ stage }) => stage)).toEqual([
      'pushed',
      'unassigned',
      'removed',
      'unassigned',
    ]);
    expect((await askAs(dep)).status).toBe(200);
    expect(await requests()).toBe(1);
    const [own, inOther, removed, other] = await Promise.all(rows.map(rowOf));
    expect(own).toMatchObject({ stage: 'contacted', last_error: null, last_error_at: null });
    expect(own.contacted_at).toBeInstanceOf(Date);
    expect(inOther.contacted_at).toEqual(own.contacted_at);
    expect(inOther).toMatchObject({ last_error: 'disown: FAILED', last_error_at });
    expect([removed, other]).toEqual(before.slice(2));
  });

  it('shows that it had to update first', async () => {
    const id = await listed();
    await addProfile(knex(), null);
    await knex()('dep_profiles').update({ minimum_ios_version: '17.4' });
    const facts = { OS_VERSION: '17.0', MDM_CAN_REQUEST_SOFTWARE_UPDATE: true };
    expect((await askAs(dep, facts)).status).toBe(403);
    const { contacted_at, last_error, last_error_at } = await rowOf(id);
    expect(last_error).toBe(
      'enrollment: the device was asked to update to 17.4 first; it has 17.0',
    );
    expect([last_error_at, contacted_at]).toEqual([contacted_at, contacted_at]);
    expect(await requests()).toBe(0);
    expect((await askAs(dep, { ...facts, OS_VERSION: '17.4' })).status).toBe(200);
    expect(await rowOf(id)).toMatchObject({ last_error: null, last_error_at: null });
  });

  it('shows why it was refused', async () => {
    const id = await listed({ listed_at: null });
    await knex()('devices').update({ is_dep: false });
    expect((await askAs(dep)).status).toBe(403);
    const { contacted_at, last_error } = await rowOf(id);
    expect(contacted_at).toBeInstanceOf(Date);
    expect(last_error).toMatch(/^enrollment: refused: serial number C02PROGRAM1 is not known from/);
  });

  it('is not shown as contacted because of a message of another device', async () => {
    const id = await listed();
    const before = await rowOf(id);
    const subject = [{ type: 'CN' as const, value: 'Impostor' }];
    const issuedBy = await ecIdentity('P-256', { ...asAuthority, subject });
    const outsider = identityOf(await deviceKeys(), { issuedBy });
    const asked = await askToEnroll(dep.app, signedBy(outsider, buildPlist(MACHINE)));
    expect(asked.status).toBe(403);
    expect((await askAs(dep, { CHALLENGE: 'x' })).status).toBe(403);
    expect(await rowOf(id)).toEqual(before);
  });

  it('does not wait for a transaction that has locked its row', async () => {
    const id = await listed();
    await knex().transaction(async (trx) => {
      await trx('dep_devices').where({ id }).update({ model: 'changed' });
      expect((await askAs(dep)).status).toBe(200);
    });
    expect(await rowOf(id)).toMatchObject({ model: 'changed', contacted_at: null });
    expect(await requests()).toBe(1);
  });

  it('is known when Apple lists it, though its record was deleted, with its profile', async () => {
    const dep_account_id = await account();
    const profile = await addProfile(knex(), dep_account_id);
    // Another one, so that it is not the only one.
    await addProfile(knex(), dep_account_id);
    await knex()('dep_profiles').where({ id: profile }).update({ minimum_ios_version: '17.4' });
    const uuid = randomUUID();
    const definition = { uuid, dep_profile_id: profile, dep_account_id, digest: Buffer.of(1) };
    await knex()('dep_profile_definitions').insert(definition);
    await listed({ dep_account_id, profile_uuid: uuid });
    await knex()('devices').delete();
    const facts = { OS_VERSION: '17.0', MDM_CAN_REQUEST_SOFTWARE_UPDATE: true };
    const { status, body } = await askAs(dep, facts);
    expect([status, JSON.parse(body.toString()).details]).toEqual([403, { OSVersion: '17.4' }]);
    expect((await askAs(dep)).status).toBe(200);
    await knex()('dep_devices').update({ removed_at: new Date() });
    expect((await askAs(dep)).status).toBe(403);
  });
});
