import type { PlistDict } from '../../protocol/plist/plist.js';
import { type Answer, acknowledged, failed } from '../answers/answer.js';
import { toDeviceCertificate } from '../devices/certificates.js';
import { isEnrollmentProfile } from '../devices/profiles.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { DeviceSession } from '../fleet/poll.js';
import { LabError } from '../wire/lab-error.js';
import { MdmClient, type MdmIdentity } from '../wire/mdm-client.js';
import { authenticateMessage, tokenUpdateMessage } from '../wire/messages.js';
import { requestIdentity } from '../wire/scep-client.js';
import { type EnrollmentProfile, readProfileFile } from './enrollment-profile.js';

/** The profile in the command, where it is the one that manages the device once more. */
function readUpdate(device: SimulatedDevice, command: PlistDict): EnrollmentProfile | undefined {
  if (command.RequestType !== 'InstallProfile' || !Buffer.isBuffer(command.Payload))
    return undefined;
  try {
    const profile = readProfileFile(command.Payload);
    const present = device.profiles.find(isEnrollmentProfile);
    return profile.installed.identifier === present?.identifier ? profile : undefined;
  } catch {
    return undefined; // no enrollment profile, or none that can be read
  }
}

function install(session: DeviceSession, profile: EnrollmentProfile, identity: MdmIdentity): void {
  const { device, http, identity: former } = session;
  const { installed, mdm } = profile;
  const others = device.profiles.filter(({ identifier }) => identifier !== installed.identifier);
  device.profiles = [...others, installed];
  device.certificates = device.certificates.map((certificate) =>
    certificate.der.equals(former.certificate)
      ? toDeviceCertificate(identity.certificate, true)
      : certificate,
  );
  session.identity = identity;
  session.mdm = new MdmClient(http, mdm, identity);
}

/**
 * Installs the profile that manages the device once more, and with it a new identity, which signs
 * from then on. An iPhone checks in with it as at its enrollment, a Mac just goes on. Undefined when
 * the command asks for something else.
 */
export async function renewIdentity(
  session: DeviceSession,
  command: PlistDict,
): Promise<Answer | undefined> {
  const { device, http, keys, topic } = session;
  const profile = readUpdate(device, command);
  if (profile === undefined) return undefined;
  if (profile.mdm.topic !== topic) {
    return failed(4001, 'The profile could not be installed.', 'MCInstallationErrorDomain');
  }
  try {
    const pair = await keys.take(profile.scep.keySize);
    install(session, profile, await requestIdentity({ ...profile, http, device, keys: pair }));
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return failed(22_013, 'The SCEP server returned an invalid response.', 'MCSCEPErrorDomain');
  }
  if (device.identity.platform === 'iOS') {
    await session.mdm.checkIn(authenticateMessage(device, topic));
    await session.mdm.checkIn(tokenUpdateMessage(device, topic));
  }
  return acknowledged();
}
