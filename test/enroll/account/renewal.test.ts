import { readEnrollmentProfile } from '../../../src/lab/enrollment/profile-reader.js';
import { type PlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';
import { startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice, type Fields } from '../../helpers/device.js';
import { askForIdentity, fetchCommand, profileIn, runRenewals } from '../renewal-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

describe('the renewal of an identity that was issued for an account', () => {
  it.each<[string, string, Fields]>([
    ['BYOD', 'account_user', { EnrollmentID: '6A0F2D4E-renewed' }],
    ['ADDE', 'account_device', { UDID: '00008101-RENEWED' }],
  ])('keeps mode and account: %s', async (mode, enrollment_method, ids) => {
    await app.db.knex('devices').delete();
    const old = await (await createTestDevice(app, ids)).enroll();
    await app.db
      .knex('devices')
      .update({ enrollment_method, managed_apple_account: 'alice@example.com' });
    await app.db.knex('device_identities').update({ renew_at: new Date(Date.now() - 1000) });
    await fetchCommand(old, 'none');
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    const payload = offered?.command.Payload as Buffer;
    const payloads = parsePlistDict(payload).PayloadContent as PlistDict[];
    const mdm = payloads.find(({ PayloadType }) => PayloadType === 'com.apple.mdm') ?? {};
    expect(mdm).toMatchObject({
      EnrollmentMode: mode,
      AssignedManagedAppleID: 'alice@example.com',
    });
    expect('AccessRights' in mdm).toBe(mode === 'ADDE');
    expect(readEnrollmentProfile(payload).mdm.signMessage).toBe(true);

    const certificate = await askForIdentity(app, profileIn(offered?.command ?? {}));
    const renewed = old.with(certificate);
    expect((await renewed.authenticate()).status).toBe(200);
    expect((await renewed.idle()).status).toBe(200);
    expect((await old.idle()).status).toBe(403);
    const devices = await app.db.knex('devices');
    expect(devices).toMatchObject([{ enrollment_number: 1, is_enrolled: true, enrollment_method }]);
    expect(devices[0].managed_apple_account).toBe('alice@example.com');
  });
});
