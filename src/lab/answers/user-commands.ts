import type { PlistDict } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { type Answer, acknowledged, failed } from './answer.js';
import { obey } from './commands.js';

/** What Apple lets a user be asked, of what simulated devices can do. */
const FOR_USERS: ReadonlySet<string> = new Set([
  ...['DeviceInformation', 'ProfileList', 'InstallProfile', 'RemoveProfile', 'Settings'],
  ...['CertificateList', 'InstalledApplicationList', 'InstallApplication', 'SecurityInfo'],
]);

/** A Shared iPad does less for its users than a Mac. */
const FOR_USERS_OF_IPADS: ReadonlySet<string> = new Set([
  ...['DeviceInformation', 'ProfileList', 'InstallProfile', 'RemoveProfile', 'Settings'],
]);

export interface Parties {
  device: SimulatedDevice;
  user: SimulatedUser;
}

/** Carries out a command for a user, whose profiles are others than the device's. */
export function obeyForUser({ device, user }: Parties, command: PlistDict): Answer {
  const { platform } = device.identity;
  const requestType = typeof command.RequestType === 'string' ? command.RequestType : '';
  if (requestType === 'UserConfigured' && platform === 'iOS') {
    user.isAwaitingConfiguration = false;
    return acknowledged();
  }
  const known = platform === 'macOS' ? FOR_USERS : FOR_USERS_OF_IPADS;
  if (!known.has(requestType)) {
    return failed(12_021, `“${requestType}” is not a valid request type.`);
  }
  const view = { ...device, profiles: user.profiles, certificates: [] };
  const answer = obey(view, command);
  user.profiles = view.profiles;
  return answer;
}
