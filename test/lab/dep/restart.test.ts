import type { SnapshotStore } from '../../../src/lab/dep/dep-snapshot.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { DepUnderTest } from './dep-under-test.js';

let lab: DepUnderTest;

beforeAll(async () => {
  lab = await DepUnderTest.start();
});

afterAll(() => lab.stop());

describe('after a restart', () => {
  function memory(text?: string) {
    const store = { text, troubles: [] as string[] };
    const kept: SnapshotStore = {
      load: () => Promise.resolve(store.text),
      save: (given) => {
        store.text = given;
        return Promise.resolve();
      },
      onFailure: (message) => store.troubles.push(message),
    };
    return { store, kept };
  }

  it('tokens, devices, profiles and cursors are as they were', async () => {
    const { store, kept } = memory();
    const before = await DepUnderTest.start({ store: kept });
    const token = before.standIn.portal.issueToken();
    await before.openSession(token);
    const profile = { profile_name: 'Kept', url: 'https://mdm.example.com' };
    const { profile_uuid } = await before.ask('POST', '/profile', profile);
    const { cursor, devices } = await before.ask('POST', '/server/devices', { limit: 1000 });
    const serial = devices[0].serial_number;
    await before.ask('PUT', '/profile/devices', { profile_uuid, devices: [serial] });
    before.standIn.portal.removeDevices(undefined, [devices[1].serial_number]);
    await before.stop();

    const { authority } = before;
    const after = await DepUnderTest.start({ authority, store: kept });
    await after.openSession(token);
    expect(await after.ask('GET', `/profile?profile_uuid=${profile_uuid}`)).toEqual({
      profile_uuid,
      ...profile,
    });
    const changes = await after.ask('POST', '/devices/sync', { cursor });
    expect(
      changes.devices.map((one: Record<string, string>) => [
        one.op_type,
        one.serial_number,
        one.profile_status,
      ]),
    ).toEqual([
      ['modified', serial, 'assigned'],
      ['deleted', devices[1].serial_number, 'empty'],
    ]);
    await after.stop();
    expect(store.troubles).toEqual([]);
  });

  it.each([
    ['lost', undefined],
    ['broken', '{"version":1'],
    ['of another lab', '{"version":1,"lab":"00","stateId":"x","areTermsSigned":true,"servers":[]}'],
  ])('with a file that is %s, tokens are valid and no other state is left', async (_what, text) => {
    const token = lab.standIn.portal.issueToken({ server: 'lost' });
    await lab.openSession(token);
    const { cursor, devices } = await lab.ask('POST', '/server/devices', {});
    const { authority } = lab;
    const after = await DepUnderTest.start({ authority, store: memory(text).kept });
    await after.openSession(token);
    const again = await after.ask('POST', '/server/devices', {});
    const serials = (list: Record<string, string>[]) => list.map((one) => one.serial_number);
    expect(serials(again.devices)).toEqual(serials(devices));
    expect((await after.call('POST', '/devices/sync', { cursor })).text).toBe('INVALID_CURSOR');
    await after.stop();
  });

  it('of another lab its tokens are not known', async () => {
    const token = lab.standIn.portal.issueToken();
    const other = await DepUnderTest.start({ authority: await createLabAuthority() });
    await expect(other.openSession(token)).rejects.toThrow('consumer_key_unknown');
    await other.stop();
  });

  it('too many devices are dropped, which is logged', async () => {
    const { store, kept } = memory();
    const { authority } = lab;
    const large = await DepUnderTest.start({ authority, store: kept });
    large.standIn.portal.addDevices(undefined, { count: 20_000, family: 'Mac' });
    await large.stop();
    expect(store).toEqual({
      text: undefined,
      troubles: ['the state of the DEP stand-in is too large to be stored: a restart loses it'],
    });
  });
});
