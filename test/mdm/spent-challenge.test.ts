import { readProfileFile } from '../../src/lab/enrollment/enrollment-profile.js';
import {
  askForIdentity,
  createDueDevice,
  fetchCommand,
  profileIn,
  runRenewals,
} from '../enroll/renewal-fixture.js';
import { startApp, type TestApp } from '../helpers/app.js';
import { createTestDevice, type TestDevice } from '../helpers/device.js';
import { send } from '../pki/revocation/revocation-fixture.js';
import { eventually } from '../push/push-fixture.js';
import { expectEmpty, expectPlainRefusal } from './conversation.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

/** When the challenge behind its certificate was spent. */
async function spentAt({ certificate }: TestDevice): Promise<Date | null> {
  const { fingerprint } = certificate;
  const use = await app.db
    .knex('scep_challenges as s')
    .join('certificates as c', 'c.id', 's.certificate_id')
    .where('c.fingerprint', fingerprint)
    .first('s.locked_at');
  return use.locked_at;
}

async function newDevice(): Promise<TestDevice> {
  const profile = readProfileFile((await send(`${app.url}/enroll/profile`)).body);
  return (await createTestDevice(app)).with(await askForIdentity(app, profile));
}

async function expectUnspent(device: TestDevice, as = device): Promise<void> {
  const before = await dumpRows(app.db);
  expectPlainRefusal(await as.authenticate());
  expect(await dumpRows(app.db)).toEqual(before);
  expect(await spentAt(device)).toBeNull();
}

describe('the challenge of a certificate', () => {
  it('is spent by the Authenticate that enrolls, once', async () => {
    const device = await newDevice();
    expect(await spentAt(device)).toBeNull();
    expectEmpty(await device.authenticate());
    const first = await spentAt(device);
    expect(first).toBeInstanceOf(Date);
    expectEmpty(await device.authenticate());
    expect(await spentAt(device)).toEqual(first);
  });

  it('is not spent by a device other than the one renewed', async () => {
    const old = await createDueDevice(app, await newDevice());
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    const device = old.with(await askForIdentity(app, profileIn(offered?.command ?? {})));
    await expectUnspent(device, device.as({ UDID: 'SOMEBODY-ELSE' }));
    expectEmpty(await device.authenticate());
    expect(await spentAt(device)).toBeInstanceOf(Date);
  });

  it('is not spent where the certificate was revoked', async () => {
    const device = await newDevice();
    const { fingerprint } = device.certificate;
    await app.db.knex('certificates').where({ fingerprint }).update({ revoked_at: new Date() });
    await expectUnspent(device);
  });

  it('refuses an Authenticate whose certificate SCEP is replacing at that moment', async () => {
    const [device, newer] = [await newDevice(), await newDevice()];
    const { knex } = app.db;
    const idOf = ({ certificate: { fingerprint } }: TestDevice) =>
      knex('certificates').where({ fingerprint }).first('id');
    await knex('scep_challenges')
      .where({ certificate_id: (await idOf(newer)).id })
      .delete();
    const replacing = await knex.transaction();
    await replacing('scep_challenges')
      .where({ certificate_id: (await idOf(device)).id })
      .update({ certificate_id: (await idOf(newer)).id });
    const reply = device.authenticate();
    await eventually(async () => {
      const { rows } = await app.db.pool.query(`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`);
      expect(rows).toHaveLength(1);
    });
    await replacing.commit();
    expectPlainRefusal(await reply);
    const { fingerprint } = device.certificate;
    expect(await knex('device_identities').where({ fingerprint })).toEqual([]);
    expect(await spentAt(newer)).toBeNull();
  });
});
