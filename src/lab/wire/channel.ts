import type { PlistInput } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';

/** The keys by which every message says whose it is. */
export type Channel = Readonly<Record<string, PlistInput>>;

/** One that a person owns never tells its UDID. */
export function deviceChannel({ identity, enrollmentId }: SimulatedDevice): Channel {
  return enrollmentId === undefined ? { UDID: identity.udid } : { EnrollmentID: enrollmentId };
}

export function userChannel(device: SimulatedDevice, user: SimulatedUser): Channel {
  const { id, shortName, longName } = user;
  if (device.enrollmentId !== undefined) {
    return { ...deviceChannel(device), EnrollmentUserID: id };
  }
  return {
    ...deviceChannel(device),
    ...{ UserID: id, UserShortName: shortName, UserLongName: longName, NotOnConsole: false },
  };
}
