import { getSecret, putSecret, removeSecret } from '../../src/db/devices/device-secrets.js';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, deviceKeys, issueIdentity, type TestDevice } from '../helpers/device.js';

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await (await createTestDevice(app)).enroll();
});

async function deviceRow() {
  return app.db.knex('devices').where({ udid: device.udid }).first();
}

/** Enrollment and value of each row; '' marks one that was removed. */
async function escrow(kind: string): Promise<[number, string][]> {
  const { id } = await deviceRow();
  const rows = await app.db.knex('device_secrets').where({ device_id: id, kind }).orderBy('id');
  return rows.map(({ sealed, enrollment_number }) => [
    enrollment_number,
    sealed.length === 0 ? '' : app.box.open(sealed, `devices/${id}/${kind}`).toString(),
  ]);
}

function set(value?: string, from = device) {
  const token = value === undefined ? {} : { BootstrapToken: Buffer.from(value) };
  return from.checkIn('SetBootstrapToken', token);
}

async function get(from = device): Promise<string | undefined> {
  const { status, body } = await from.checkIn('GetBootstrapToken');
  expect(status).toBe(200);
  return body.length === 0 ? undefined : String(parsePlistDict(body).BootstrapToken);
}

/** With a new certificate, and nothing that proves which device it is. */
async function enrollAnew(): Promise<void> {
  await device.checkOut();
  device = await device.with(issueIdentity(app.authority, await deviceKeys())).enroll();
}

/** As if a certificate of the device CA had proved that the former enrollment was of the same device. */
async function prove(): Promise<void> {
  const { id } = await deviceRow();
  const proven = { proven_serial: 'C02MT66KFLHH' };
  await app.db.knex('devices').where({ id }).update(proven);
  await app.db.knex('device_secrets').where({ device_id: id }).update(proven);
}

describe('a bootstrap token', () => {
  it('is kept once however often it is sent, and again after another', async () => {
    for (const value of ['a', 'a', 'b', 'b', 'a']) expect((await set(value)).status).toBe(200);
    expect(await escrow('bootstrap_token')).toEqual([
      [1, 'a'],
      [1, 'b'],
      [1, 'a'],
    ]);
    expect(await get()).toBe('a');
  });

  it('is removed once by a message without a token, and can be sent again', async () => {
    await set();
    await set('a');
    await set();
    await set('');
    expect(await get()).toBeUndefined();
    await set('a');
    expect(await escrow('bootstrap_token')).toEqual([
      [1, 'a'],
      [1, ''],
      [1, 'a'],
    ]);
    expect(await get()).toBe('a');
  });

  it('stays as it is when another type is sent, or more than 64 KiB', async () => {
    await set('a');
    for (const BootstrapToken of ['text', 7, ['b'], { b: 'b' }]) {
      expect((await device.checkIn('SetBootstrapToken', { BootstrapToken })).status).toBe(400);
    }
    const large = Buffer.alloc(64 * 1024 + 1, 1);
    const answer = await device.checkIn('SetBootstrapToken', { BootstrapToken: large });
    expect(answer.status).toBe(413);
    expect(await escrow('bootstrap_token')).toEqual([[1, 'a']]);
    const unlock = { Token: Buffer.of(1), PushMagic: 'other magic', UnlockToken: large };
    const before = await deviceRow();
    expect((await device.checkIn('TokenUpdate', unlock)).status).toBe(413);
    expect(await escrow('unlock_token')).toEqual([]);
    expect((await deviceRow()).sealed_push).toEqual(before.sealed_push);
  });

  it('a token belongs to one device, even if another device sends the same one', async () => {
    await set('same');
    const other = await (await createTestDevice(app)).enroll();
    expect(await get(other)).toBeUndefined();
    await set('same', other);
    await set(undefined, other);
    expect(await get()).toBe('same');
    const rows = await app.db.knex('device_secrets').whereNotNull('digest').orderBy('id', 'desc');
    expect(rows[0].digest).toHaveLength(32);
    expect(rows[0].digest).not.toEqual(rows[1].digest);
  });

  it('is kept after its enrollment, and neither returned to nor removed by the next one', async () => {
    await set('former');
    await enrollAnew();
    expect(await get()).toBeUndefined();
    await set();
    expect(await escrow('bootstrap_token')).toEqual([[1, 'former']]);
    await set('former');
    expect(await get()).toBe('former');
    expect(await escrow('bootstrap_token')).toEqual([
      [1, 'former'],
      [2, 'former'],
    ]);
  });

  it('is returned to the next enrollment of the same device, if that is proven', async () => {
    await set('former');
    await enrollAnew();
    await prove();
    expect(await get()).toBe('former');
    await set();
    expect(await get()).toBeUndefined();
    expect(await escrow('bootstrap_token')).toEqual([
      [1, 'former'],
      [2, ''],
    ]);
  });

  it('is kept once more under another master key, and no more than that', async () => {
    await set('a');
    const { id } = await deviceRow();
    await app.db
      .knex('device_secrets')
      .where({ device_id: id })
      .update({ digest: Buffer.alloc(32) });
    await set('a');
    await set('a');
    expect((await escrow('bootstrap_token')).map(([, value]) => value)).toEqual(['a', 'a']);
  });

  it('is neither stored from nor returned to a certificate that was replaced meanwhile', async () => {
    await set('a');
    const { id } = await deviceRow();
    const key = { deviceId: id, kind: 'bootstrap_token' } as const;
    const own = { ...key, fingerprint: device.certificate.fingerprint };
    const outsider = issueIdentity(app.authority, await deviceKeys());
    const foreign = { ...key, fingerprint: outsider.fingerprint };
    expect(await getSecret(app.db, own)).toEqual({ sealed: expect.any(Buffer), isFormer: false });
    expect(await getSecret(app.db, foreign)).toBeUndefined();
    await putSecret(app.db, { ...foreign, sealed: Buffer.from('x'), digest: Buffer.alloc(32) });
    await removeSecret(app.db, foreign);
    expect(await escrow('bootstrap_token')).toEqual([[1, 'a']]);
    await app.db
      .knex('device_identities')
      .where({ fingerprint: own.fingerprint })
      .update({ state: 'superseded' });
    expect(await getSecret(app.db, own)).toBeUndefined();
    await removeSecret(app.db, own);
    expect(await escrow('bootstrap_token')).toEqual([[1, 'a']]);
  });
});

describe('an unlock token', () => {
  const sent = (value: string) => device.tokenUpdate({ UnlockToken: Buffer.from(value) });

  it('is kept once however often it is sent', async () => {
    for (const value of ['a', 'a', '', 'b', 'a']) await sent(value);
    expect(await escrow('unlock_token')).toEqual([
      [1, 'a'],
      [1, 'b'],
      [1, 'a'],
    ]);
  });

  it('is kept for each enrollment', async () => {
    await sent('a');
    await enrollAnew();
    await sent('a');
    await sent('a');
    expect(await escrow('unlock_token')).toEqual([
      [1, 'a'],
      [2, 'a'],
    ]);
  });

  it('is stored for each of several devices at once', async () => {
    const others = await Promise.all(
      Array.from({ length: 12 }, async () => (await createTestDevice(app)).enroll()),
    );
    const UnlockToken = Buffer.from('of all');
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(others.map((other) => other.tokenUpdate({ UnlockToken })));
    }
    for (const other of others) {
      device = other;
      expect(await escrow('unlock_token')).toEqual([[1, 'of all']]);
    }
  });
});
