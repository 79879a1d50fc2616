import { SecretBox } from '../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { renewalTime } from '../../src/pki/authority/authority.js';
import { adminApi, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, type TestDevice } from '../helpers/device.js';
import { expectEmpty, expectPlainRefusal } from '../mdm/conversation.js';
import { recordsOf } from '../mdm/records.js';
import {
  askForIdentity,
  createDueDevice,
  fetchCommand,
  profileIn,
  renewalsOf,
  runRenewals,
} from './renewal-fixture.js';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());
beforeEach(() => app.db.knex('devices').delete());

const { rowOf, commandsOf, pinOf } = recordsOf(() => app);

/** What must not change with the identity. */
async function lastingFacts(device: TestDevice) {
  const { id, enrollment_number, enrollment_state, enrolled_at } = await rowOf(device);
  const inventory = await app.db.knex('device_inventories').where({ device_id: id });
  expect(inventory).toHaveLength(1);
  const secrets = await app.db.knex('device_secrets').where({ device_id: id }).orderBy('id');
  return { id, enrollment_number, enrollment_state, enrolled_at, inventory, secrets };
}

/** A device that has installed the profile, and not used its new identity yet. */
async function renewing() {
  const old = await createDueDevice(app);
  const lasting = await lastingFacts(old);
  await app.db.knex('device_pushes').delete();
  await runRenewals(app);
  const offered = await fetchCommand(old, 'InstallProfile');
  if (offered === undefined) throw new Error('no profile was offered');
  const certificate = await askForIdentity(app, profileIn(offered.command));
  return { old, lasting, uuid: offered.uuid, device: old.with(certificate) };
}

async function expectRenewed({ old, device, lasting }: Awaited<ReturnType<typeof renewing>>) {
  const { fingerprint, notAfter } = device.certificate;
  const pins = await app.db
    .knex('device_identities')
    .where({ device_id: lasting.id })
    .orderBy('state')
    .select('fingerprint', 'state', 'not_after', 'renew_at');
  expect(pins).toEqual([
    {
      fingerprint,
      state: 'active',
      not_after: notAfter,
      renew_at: renewalTime(device.certificate),
    },
    expect.objectContaining({ fingerprint: old.certificate.fingerprint, state: 'superseded' }),
  ]);
  expect(await lastingFacts(device)).toEqual(lasting);
  const commands = await commandsOf(device);
  expect(commands.filter(({ status }) => status !== 'Acknowledged')).toEqual([]);
  const types = commands.map(({ request_type }) => request_type);
  expect(types.filter((type) => type === 'DeviceInformation')).toHaveLength(1);
  expect(types.at(-1)).toBe('InstallProfile');
  expectPlainRefusal(await old.idle());
  expectEmpty(await device.idle());
}

describe('the renewal of an identity', () => {
  it('begins with a push and the enrollment profile, sealed and for this device alone', async () => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    const topic = 'com.apple.mgmt.External.of-this-device';
    await app.db.knex('devices').where({ id }).update({ topic });
    await app.db.knex('device_pushes').delete();
    const before = Date.now();
    await runRenewals(app);
    const [push] = await app.db.knex('device_pushes').where({ device_id: id });
    expect(push.due_at.getTime()).toBeLessThan(Date.now() + 10 * 60_000);
    const [command] = await app.db.knex('commands').where({ device_id: id, is_pending: true });
    expect(command).toMatchObject({ request_type: 'InstallProfile', status: 'Queued' });
    expect(SecretBox.isSealed(command.payload)).toBe(true);
    const days = (command.expires_at.getTime() - before) / 86_400_000;
    expect(Math.round(days * 100) / 100).toBe(30);
    const shown = await adminApi(app).get(`/commands/${command.id}`);
    expect(shown.body.data.attributes.parameters).toEqual({
      Payload: {
        PayloadIdentifier: 'dev.muster.enroll',
        PayloadUUID: expect.any(String),
        PayloadDisplayName: expect.any(String),
        size: expect.any(Number),
      },
    });
    const offered = await fetchCommand(device, 'InstallProfile');
    const { mdm, installed } = profileIn(offered?.command ?? {});
    expect(mdm).toMatchObject({ topic, serverUrl: 'https://mdm.example.com/mdm', isSigned: true });
    expect(installed.identifier).toBe('dev.muster.enroll');
  });

  it.each([
    [null, 'https://mdm.example.com/mdm'],
    [0, 'https://mdm.example.com/mdm?c=00'],
    [17, 'https://mdm.example.com/mdm?c=17'],
  ])('keeps the ServerURL of a device whose cell label is %s', async (cell, serverUrl) => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    await app.db.knex('devices').where({ id }).update({ cell });
    await runRenewals(app);
    const offered = await fetchCommand(device, 'InstallProfile');
    const { mdm } = profileIn(offered?.command ?? {});
    expect(mdm).toMatchObject({ serverUrl, checkInUrl: serverUrl });
  });

  it('keeps the identifiers that the device enrolled with, whatever settings changed since', async () => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    const identifier = { payload_identifier: 'com.example.old.enroll' };
    const [profile] = await app.db
      .knex('installed_profiles')
      .insert({ device_id: id, ...identifier }, 'id');
    await app.db
      .knex('installed_payloads')
      .insert({ installed_profile_id: profile.id, payload_type: 'com.apple.mdm' });
    await runRenewals(app);
    const offered = await fetchCommand(device, 'InstallProfile');
    const { content, identifier: given } = profileIn(offered?.command ?? {}).installed;
    expect(given).toBe('com.example.old.enroll');
    expect(content.PayloadContent).toEqual([
      expect.objectContaining({ PayloadIdentifier: 'com.example.old.ca' }),
      expect.objectContaining({ PayloadIdentifier: 'com.example.old.scep' }),
      expect.objectContaining({ PayloadIdentifier: 'com.example.old.mdm' }),
    ]);
  });

  it('is signed as enrollment profiles are', async () => {
    const device = await createDueDevice(app);
    const { id } = await rowOf(device);
    const renewals = renewalsOf(app, { sign: (profile) => Buffer.from(`signed ${profile}`) });
    await inTransaction(app.db, (trx) => renewals.renew(trx, id));
    const offered = await fetchCommand(device, 'InstallProfile');
    expect(String(offered?.command.Payload)).toMatch(/^signed <\?xml/);
  });

  it('keeps the old identity valid until the new one is used', async () => {
    const { old, device, uuid } = await renewing();
    expectEmpty(await old.report(uuid));
    expectEmpty(await old.tokenUpdate());
    expect(await pinOf(old)).toMatchObject({ state: 'active' });
    expect(await pinOf(device)).toMatchObject({ state: 'renewal' });
  });

  it.each<[string, (of: Awaited<ReturnType<typeof renewing>>) => Promise<void>]>([
    [
      'Authenticate, TokenUpdate and the report, all by the new identity',
      async ({ device, uuid }) => {
        expectEmpty(await device.authenticate());
        expectEmpty(await device.tokenUpdate());
        expectEmpty(await device.report(uuid));
      },
    ],
    [
      'the report by the old identity, then Authenticate and TokenUpdate',
      async ({ old, device, uuid }) => {
        expectEmpty(await old.report(uuid));
        expectEmpty(await device.authenticate());
        expectEmpty(await device.tokenUpdate());
      },
    ],
    [
      'a TokenUpdate alone, then the report by the new identity',
      async ({ device, uuid }) => {
        expectEmpty(await device.tokenUpdate());
        expectEmpty(await device.report(uuid));
      },
    ],
    [
      'the report by the old identity, then a TokenUpdate alone',
      async ({ old, device, uuid }) => {
        expectEmpty(await old.report(uuid));
        expectEmpty(await device.tokenUpdate());
      },
    ],
    [
      'the report by the new identity and nothing else',
      async ({ device, uuid }) => expectEmpty(await device.report(uuid)),
    ],
    [
      'the report by the old identity, then Idle by the new one',
      async ({ old, device, uuid }) => {
        expectEmpty(await old.report(uuid));
        expectEmpty(await device.idle());
      },
    ],
    [
      'Authenticate twice before the TokenUpdate',
      async ({ old, device, uuid }) => {
        expectEmpty(await old.report(uuid));
        expectEmpty(await device.authenticate());
        expectEmpty(await device.authenticate());
        expectEmpty(await device.tokenUpdate());
      },
    ],
  ])('by %s resets nothing', async (_order, say) => {
    const renewal = await renewing();
    await say(renewal);
    await expectRenewed(renewal);
  });

  it('ends when the next run finds the new identity, with an audit line', async () => {
    const { device, uuid, lasting } = await renewing();
    await device.report(uuid);
    await app.db.knex('identity_renewals').update({ next_attempt_at: new Date() });
    const lines = await runRenewals(app);
    expect(lines.at(-1)).toMatchObject({ renewed: 1, msg: 'identities are being renewed' });
    expect(await app.db.knex('identity_renewals').where({ device_id: lasting.id })).toEqual([]);
    const [line] = await app.db
      .knex('audit_events')
      .where({ action: 'devices.identity_renewed', target_id: String(lasting.id) });
    expect(line).toMatchObject({ actor: 'system', outcome: 'success' });
  });

  it('uses up the challenge: another certificate for it is refused', async () => {
    const old = await createDueDevice(app);
    await runRenewals(app);
    const offered = await fetchCommand(old, 'InstallProfile');
    const profile = profileIn(offered?.command ?? {});
    const device = old.with(await askForIdentity(app, profile));
    // Without an Authenticate, by which challenges of new enrollments are spent.
    expectEmpty(await device.report(offered?.uuid ?? ''));
    const asked = askForIdentity(app, { ...profile, scep: { ...profile.scep, subject: [] } });
    await expect(asked).rejects.toThrow(
      'the CA refused the request: badRequest, the challenge is spent',
    );
    expectEmpty(await device.idle());
  });

  it('does not send the profile again when the report about it was refused', async () => {
    const { old, device, uuid } = await renewing();
    expectEmpty(await device.authenticate());
    expectPlainRefusal(await old.report(uuid));
    await app.db.knex('identity_renewals').update({ next_attempt_at: new Date() });
    await runRenewals(app);
    expect(commandIn(await device.idle())).toBeUndefined();
    expect((await commandsOf(device)).at(-1)).toEqual({
      request_type: 'InstallProfile',
      status: 'Cancelled',
      reason: 'the identity was renewed',
    });
    expectEmpty(await device.report(uuid));
    expect((await commandsOf(device)).at(-1)).toMatchObject({ status: 'Acknowledged' });
  });
});
