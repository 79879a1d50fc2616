import { randomBytes } from 'node:crypto';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';
import { dumpRows, spellingsOf } from './rows.js';

let app: TestApp;
let device: TestDevice;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
beforeEach(async () => {
  device = await createTestDevice(app);
});

async function deviceId(): Promise<number> {
  return (await app.db.knex('devices').where({ udid: device.udid }).first('id')).id;
}

async function secretsOf(kind: string): Promise<string[]> {
  const id = await deviceId();
  const rows = await app.db.knex('device_secrets').where({ device_id: id, kind }).orderBy('id');
  return rows.map(({ sealed }) =>
    sealed.length === 0 ? '' : app.box.open(sealed, `devices/${id}/${kind}`).toString(),
  );
}

/** Neither in any column of any table, nor in the log. */
async function expectNowhere(secret: Buffer, text = secret.toString('latin1')) {
  const everything = JSON.stringify(await dumpRows(app.db)) + app.logText();
  for (const spelling of [...spellingsOf(secret), text]) {
    expect(everything.includes(spelling)).toBe(false);
  }
}

it('the search for a secret finds one that is stored as it is', async () => {
  const secret = randomBytes(30);
  const [id] = await app.db.knex('devices').insert({ description: 'x' }).returning('id');
  const stored = [
    { description: secret.toString('hex') },
    { description: secret.toString('base64') },
    { description: Buffer.concat([Buffer.from('ab'), secret]).toString('base64') },
    { sealed_push: secret },
    { sealed_push: Buffer.from(secret.toString('base64')) },
  ];
  for (const columns of stored) {
    await app.db.knex('devices').where(id).update({ description: null, sealed_push: null });
    await app.db.knex('devices').where(id).update(columns);
    await expect(expectNowhere(secret, 'not this text')).rejects.toThrow();
  }
  await app.db.knex('devices').where(id).delete();
});

describe('an unlock token', () => {
  it('is stored sealed, with the push token and its magic, and nowhere else', async () => {
    const [token, push] = [randomBytes(48), randomBytes(32)];
    const PushMagic = 'this is the magic';
    await device.enroll({}, { UnlockToken: token, Token: push, PushMagic });
    expect(await secretsOf('unlock_token')).toEqual([token.toString()]);
    await expectNowhere(token);
    await expectNowhere(push);
    await expectNowhere(Buffer.from(PushMagic));
  });

  it('stays when a later TokenUpdate has none, and is replaced when it has', async () => {
    await device.enroll({}, { UnlockToken: Buffer.from('first') });
    await device.tokenUpdate();
    await device.tokenUpdate({ UnlockToken: Buffer.alloc(0) });
    expect(await secretsOf('unlock_token')).toEqual(['first']);
    await device.tokenUpdate({ UnlockToken: Buffer.from('second') });
    expect((await secretsOf('unlock_token')).at(-1)).toBe('second');
  });

  it('is sent in ClearPasscode, whose stored payload is sealed and masked in the API', async () => {
    const token = randomBytes(48);
    await device.enroll({}, { UnlockToken: token });
    const id = await deviceId();
    await app.db.knex('commands').where({ device_id: id }).delete();
    const queued = await adminApi(app).post(`/devices/${id}/clear_passcode`);
    expect(queued.body.data.attributes.parameters).toEqual({ UnlockToken: '********' });
    await expectNowhere(token);
    const sent = commandIn(await device.idle());
    expect(sent?.command.UnlockToken).toEqual(token);
    await device.report(String(sent?.uuid), 'Acknowledged', { UnlockToken: token });
    await expectNowhere(token);
    const shown = await adminApi(app).get(`/commands/${queued.body.data.id}`);
    expect(shown.body.data.attributes).toMatchObject({
      status: 'Acknowledged',
      parameters: { UnlockToken: '********' },
      result: { UnlockToken: '********', Status: 'Acknowledged' },
    });
  });
});

describe('a bootstrap token', () => {
  it('is returned as it was sent, and is stored sealed', async () => {
    const BootstrapToken = randomBytes(40);
    await device.enroll();
    const none = await device.checkIn('GetBootstrapToken');
    expect([none.status, none.body.length]).toEqual([200, 0]);
    const set = await device.checkIn('SetBootstrapToken', { BootstrapToken });
    expect([set.status, set.body.length]).toEqual([200, 0]);
    const reply = await device.checkIn('GetBootstrapToken');
    expect(reply.headers.get('content-type')).toBe('application/xml');
    expect(reply.body.toString().replace(/\s/g, '')).toContain(
      `<key>BootstrapToken</key><data>${BootstrapToken.toString('base64')}</data>`,
    );
    await expectNowhere(BootstrapToken);
  });

  it('is replaced by a newer one and deleted by a message without one', async () => {
    await device.enroll();
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('old') });
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('new') });
    const reply = await device.checkIn('GetBootstrapToken');
    expect(reply.body.toString()).toContain(Buffer.from('new').toString('base64'));
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.alloc(0) });
    expect((await device.checkIn('GetBootstrapToken')).body.length).toBe(0);
    expect(await secretsOf('bootstrap_token')).toEqual(['old', 'new', '']);
  });

  it('that belongs to a former enrollment is not sent to the next one', async () => {
    await device.enroll();
    await device.checkIn('SetBootstrapToken', { BootstrapToken: Buffer.from('former') });
    await device.checkOut();
    await device.enroll();
    expect((await device.checkIn('GetBootstrapToken')).body.length).toBe(0);
    expect(await secretsOf('bootstrap_token')).toEqual(['former']);
  });
});

describe('a recovery key in SecurityInfo', () => {
  it('is escrowed sealed, and the report is sealed and masked', async () => {
    await device.enroll();
    const id = await deviceId();
    await app.db.knex('commands').where({ device_id: id }).delete();
    const queued = await adminApi(app).post('/commands', commandDocument(id, 'SecurityInfo'));
    const { uuid } = queued.body.data.attributes;
    await device.idle();
    const cms = randomBytes(60);
    const deviceKey = 'KEYS-OF-THE-DEVICE-0001';
    await device.report(uuid, 'Acknowledged', {
      SecurityInfo: {
        FDE_Enabled: true,
        FDE_PersonalRecoveryKeyCMS: cms,
        FDE_PersonalRecoveryKeyDeviceKey: deviceKey,
      },
    });
    await app.waitForReports();
    expect(await secretsOf('fde_personal_recovery_key_cms')).toEqual([cms.toString()]);
    expect(await secretsOf('fde_personal_recovery_key_device_key')).toEqual([deviceKey]);
    await expectNowhere(cms);
    await expectNowhere(Buffer.from(deviceKey));
    const { body } = await adminApi(app).get(`/commands/${queued.body.data.id}`);
    expect(body.data.attributes.result.SecurityInfo).toEqual({
      FDE_Enabled: true,
      FDE_PersonalRecoveryKeyCMS: '********',
      FDE_PersonalRecoveryKeyDeviceKey: '********',
    });
    const shown = await adminApi(app).get(`/devices/${id}`);
    expect(shown.body.data.attributes.fde_enabled).toBe(true);
  });
});
