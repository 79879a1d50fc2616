import type { PlistDict } from '../../protocol/plist/plist.js';
import { type Answer, acknowledged, failed } from '../answers/answer.js';
import { clockOf } from '../devices/behavior.js';
import { toDeviceCertificate } from '../devices/certificates.js';
import { isEnrollmentProfile } from '../devices/profiles.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { requestIdentity } from '../pki/scep-client.js';
import { LabError } from '../wire/lab-error.js';
import { MdmClient, type MdmIdentity } from '../wire/mdm-client.js';
import { authenticateMessage, tokenUpdateMessage } from '../wire/messages.js';
import type { DeviceSession } from './enroll.js';
import { type EnrollmentProfile, readProfileFile } from './enrollment-profile.js';

/** The profile in the command, if it replaces the enrollment profile of the device. */
function readRenewal(device: SimulatedDevice, command: PlistDict): EnrollmentProfile | undefined {
  if (command.RequestType !== 'InstallProfile' || !Buffer.isBuffer(command.Payload))
    return undefined;
  try {
    const profile = readProfileFile(command.Payload);
    const present = device.profiles.find(isEnrollmentProfile);
    return profile.installed.identifier === present?.identifier ? profile : undefined;
  } catch {
    return undefined; // not an enrollment profile
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
  session.mdm = new MdmClient(http, mdm, identity, () => clockOf(device));
}

/**
 * Installs a new version of the enrollment profile and requests a new identity, which signs from
 * then on. An iPhone checks in again as at its enrollment, a Mac does not. Returns undefined for any
 * other command.
 */
export async function renewIdentity(
  session: DeviceSession,
  command: PlistDict,
): Promise<Answer | undefined> {
  const { device, http, keys, topic } = session;
  const profile = readRenewal(device, command);
  if (profile === undefined) return undefined;
  if (profile.mdm.topic !== topic) {
    return failed(4001, 'The profile could not be installed.', 'MCInstallationErrorDomain');
  }
  try {
    const pair = await keys.get(profile.scep.keySize);
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
