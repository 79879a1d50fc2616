import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import type { DeviceSession } from '../../../src/lab/enrollment/enroll.js';
import { poll } from '../../../src/lab/fleet/poll.js';
import { type PlistDict, parsePlistDict } from '../../../src/protocol/plist/plist.js';

describe('a simulated Mac', () => {
  it('asks for the commands of its user only while the user is logged in', async () => {
    const random = new Random('poll');
    const device = createSimulatedDevice({ platform: 'macOS', random });
    const { user } = device;
    if (user === undefined) throw new Error('a Mac has a user');
    const messages: PlistDict[] = [];
    const mdm = {
      report(message: Buffer): Promise<undefined> {
        messages.push(parsePlistDict(message));
        return Promise.resolve(undefined);
      },
    };
    const parts = { device, mdm, postponed: new Set(), user: { user, postponed: new Set() } };
    const session = parts as unknown as DeviceSession;
    const usersAsking = async () => {
      messages.length = 0;
      await poll(session, { notNow: 0, onAnswer: () => undefined });
      return messages.map(({ UserShortName }) => UserShortName);
    };
    expect(await usersAsking()).toEqual([undefined, user.shortName]);
    user.isLoggedIn = false;
    expect(await usersAsking()).toEqual([undefined]);
  });
});
