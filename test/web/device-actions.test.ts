import { requestTypes } from '../../src/protocol/apple/command-schema.js';
import { devices } from '../../src/resources/devices/devices.js';
import {
  ACTION_NAMES,
  type Asker,
  actionRequest,
  type CommandType,
  deletionFor,
  deletionRequest,
  fieldsOf,
  isTyped,
  offersOf,
  renameRequests,
} from '../../web/src/features/device/actions/actions.js';
import { commandsOf, outcomeOf, resultOf } from '../../web/src/features/device/actions/results.js';
import { FACT_GROUPS, factsOf } from '../../web/src/features/device/facts.js';

const REASON = { code: 'unsupported_on_platform', detail: 'does not exist on macOS' };

const TYPES: CommandType[] = ACTION_NAMES.map((name) => ({
  request_type: name,
  role: name === 'EraseDevice' ? 'admin' : 'operator',
  is_destructive: name !== 'DisableLostMode' && name !== 'Settings',
  eligible: name !== 'ClearPasscode',
  reasons: name === 'ClearPasscode' ? [REASON] : [],
}));

const offersFor = ({ device, ...asker }: Partial<Asker>, types = TYPES) =>
  offersOf(types, {
    role: 'admin',
    hasUnlockToken: true,
    ...asker,
    device: { is_enrolled: true, ...device },
  });
const namesFor = (role: string, isLost = false) =>
  offersFor({ role, device: { is_mdm_lost_mode_enabled: isLost } }).map(({ name }) => name);

describe('the actions of a device', () => {
  it('send requests that Apple defines', () => {
    expect(requestTypes()).toEqual(expect.arrayContaining([...ACTION_NAMES]));
  });

  it('are offered according to the role', () => {
    expect(namesFor('viewer')).toEqual([]);
    expect(namesFor('operator')).not.toContain('EraseDevice');
    expect(namesFor('admin')).toContain('EraseDevice');
  });

  it('delete the record for admins, say to operators who can, and are no word to viewers', () => {
    const [forAdmin] = deletionFor('admin');
    expect([forAdmin?.hasDialog, forAdmin?.reason]).toEqual([true, undefined]);
    expect(deletionFor('operator').map(({ reason }) => reason?.code)).toEqual(['needs_admin']);
    expect([...deletionFor('viewer'), ...deletionFor(undefined)]).toEqual([]);
    expect(deletionRequest(7)).toEqual({ method: 'DELETE', path: '/api/v1/devices/7' });
  });

  it('turn Lost Mode on when it is off, and off when it is on', () => {
    expect(namesFor('admin')).toContain('EnableLostMode');
    expect(namesFor('admin', true)).toContain('DisableLostMode');
    expect(namesFor('admin', true)).not.toContain('EnableLostMode');
  });

  it('show the reason when the device cannot execute them', () => {
    const offers = offersFor({ hasUnlockToken: false });
    expect(offers.find(({ name }) => name === 'ClearPasscode')?.reason).toEqual(REASON);
    expect(offers.find(({ name }) => name === 'DeviceLock')?.reason).toBeUndefined();
  });

  it.each([false, null])('are refused while the device is not enrolled (%s)', (isEnrolled) => {
    const offers = offersFor({ device: { is_enrolled: isEnrolled } });
    const codes = new Set(offers.map(({ reason }) => reason?.code));
    expect([offers.length > 0, [...codes]]).toEqual([true, ['device_unenrolled']]);
  });

  it('clear the passcode only with an unlock token', () => {
    const types = TYPES.map((type) => ({ ...type, eligible: true, reasons: [] }));
    const reasonWith = (hasUnlockToken: boolean | undefined) =>
      offersFor({ hasUnlockToken }, types).find(({ name }) => name === 'ClearPasscode')?.reason
        ?.code;
    expect(reasonWith(false)).toBe('no_unlock_token');
    expect(reasonWith(true)).toBeUndefined();
    expect(reasonWith(undefined)).toBeUndefined();
  });

  it('rename a Mac and supervised devices, but never a device that its user owns', () => {
    const reasonFor = (device: Asker['device']) =>
      offersFor({ device }).find(({ name }) => name === 'Settings')?.reason?.code;
    expect(reasonFor({ platform: 'iOS', is_supervised: false })).toBe('not_supervised');
    expect(reasonFor({ platform: 'iOS', is_supervised: true })).toBeUndefined();
    expect(reasonFor({ platform: 'iOS', is_supervised: null })).toBeUndefined();
    expect(reasonFor({ platform: 'macOS', is_supervised: false })).toBeUndefined();
    expect(reasonFor({ platform: 'macOS', enrollment_type: 'user' })).toBe(
      'forbidden_by_enrollment',
    );
  });

  it('rename a device, which then reports its name', () => {
    const [rename, report] = renameRequests(7, 'Reading room 4');
    expect([rename.method, rename.path, rename.body]).toEqual([
      'PATCH',
      '/api/v1/devices/7',
      { data: { type: 'devices', id: 7, attributes: { device_name: 'Reading room 4' } } },
    ]);
    const attributes = {
      request_type: 'DeviceInformation',
      parameters: { Queries: ['DeviceName'] },
    };
    expect([report.method, report.path, report.body]).toEqual([
      'POST',
      '/api/v1/devices/7/commands',
      { data: { type: 'commands', attributes } },
    ]);
  });

  it('open a dialog unless they lose no data', () => {
    const offers = offersFor({ device: { is_mdm_lost_mode_enabled: true } });
    const without = offers.filter(({ hasDialog }) => !hasDialog).map(({ name }) => name);
    expect(without).toEqual(['DisableLostMode']);
  });

  it('send the fields that were filled in, and nothing else', () => {
    const { path, body } = actionRequest(7, 'DeviceLock', { Message: 'Lost', PIN: ' ' });
    const attributes = { request_type: 'DeviceLock', parameters: { Message: 'Lost' } };
    expect([path, body]).toEqual([
      '/api/v1/devices/7/commands',
      { data: { type: 'commands', attributes } },
    ]);
    expect(actionRequest(7, 'ClearPasscode').path).toBe('/api/v1/devices/7/clear_passcode');
  });

  it('require a PIN only from an admin, and only for a Mac', () => {
    expect(fieldsOf('DeviceLock', { platform: 'macOS', role: 'admin' })).toEqual([
      'Message',
      'PIN',
    ]);
    expect(fieldsOf('DeviceLock', { platform: 'macOS', role: 'operator' })).toEqual(['Message']);
    expect(fieldsOf('EraseDevice', { platform: 'iOS', role: 'admin' })).toEqual([]);
  });
});

describe('the name typed to confirm', () => {
  it('may have the quotes and dashes that a keyboard has', () => {
    expect(isTyped("Ada's  Mac - 2", ['Ada’s Mac – 2'])).toBe(true);
    expect(isTyped('C02XL0AAJGH5', ['Ada’s Mac', 'C02XL0AAJGH5'])).toBe(true);
    expect(isTyped('c02xl0aajgh5', ['Ada’s Mac', 'C02XL0AAJGH5'])).toBe(true);
  });

  it('is neither empty nor incomplete', () => {
    expect(isTyped('', ['', null])).toBe(false);
    expect(isTyped('Ada', ['Ada’s Mac', undefined])).toBe(false);
  });
});

describe('the facts of a device', () => {
  it('are attributes that devices have, each in one group', () => {
    const names = Object.values(FACT_GROUPS).flat();
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => devices.attributes[name] === undefined)).toEqual([]);
  });

  it('leave out what was not reported, and groups without any', () => {
    const device = { device_name: 'Ada', hostname: '', udid: null, battery_level: -1 };
    const facts = [{ name: 'device_name', value: 'Ada' }];
    expect(factsOf(device)).toEqual([{ group: 'identity', facts }]);
  });

  it('show "no" and zero', () => {
    const groups = factsOf({ fde_enabled: false, failed_push_count: 0 });
    expect(groups.flatMap(({ facts }) => facts.map(({ value }) => value))).toEqual([0, false]);
  });
});

describe('the answer to a button', () => {
  it('is shown as a sentence', () => {
    const push = (attributes: object) => ({ data: { type: 'pushes', attributes } });
    expect(resultOf(push({ status_code: 200 }))).toContain('APNs accepted the push');
    expect(resultOf(push({ status_code: 410, reason: 'Unregistered' }))).toContain('Unregistered');
    expect(resultOf({ data: [{}, {}] })).toContain('2 commands queued');
    expect(resultOf({ data: { type: 'commands' } })).toContain('1 command queued');
    expect(resultOf(undefined)).toBe('Done.');
  });

  it('names the commands that it queued, alone, in a list, or among other answers', () => {
    const command = (id: number) => ({ type: 'commands', id });
    expect(commandsOf({ data: command(7) })).toEqual([7]);
    expect(commandsOf({ data: [command(7), command(8)] })).toEqual([7, 8]);
    expect(
      commandsOf({ data: [{ data: { type: 'devices', id: 1 } }, { data: command(9) }] }),
    ).toEqual([9]);
    expect(commandsOf({ data: { type: 'pushes', id: 3 } })).toEqual([]);
    expect(commandsOf(undefined)).toEqual([]);
  });

  it('follows the commands until the device has answered all of them', () => {
    const queued = { data: [{}, {}] };
    expect(outcomeOf(queued, undefined)).toContain('2 commands queued');
    expect(outcomeOf(queued, ['Acknowledged', 'Sent'])).toContain('2 commands queued');
    expect(outcomeOf(queued, ['Acknowledged', 'Acknowledged'])).toBe(
      'The device has acknowledged it.',
    );
    expect(outcomeOf(queued, ['Acknowledged', 'Error'])).toContain('did not carry out all of it');
  });
});
