import { createCertificates, toDeviceCertificate } from '../devices/certificates.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import type { KeyPool } from '../fleet/key-pool.js';
import type { DeviceSession } from '../fleet/poll.js';
import type { HttpClient } from '../wire/http-client.js';
import { MdmClient } from '../wire/mdm-client.js';
import {
  authenticateMessage,
  bootstrapTokenMessage,
  tokenUpdateMessage,
  userTokenUpdateMessage,
} from '../wire/messages.js';
import { requestIdentity } from '../wire/scep-client.js';
import type { EnrollmentProfile } from './enrollment-profile.js';

export interface EnrollOptions {
  http: HttpClient;
  profile: EnrollmentProfile;
  keys: KeyPool;
  /** Users ask for commands of their own. */
  asUser?: boolean;
}

/** Installs the profile as a person who taps Install would: keys, SCEP, Authenticate, TokenUpdate. */
export async function enroll(
  device: SimulatedDevice,
  { http, profile, keys, asUser = false }: EnrollOptions,
): Promise<DeviceSession> {
  const { scep, mdm, installed, caCertificates } = profile;
  const [identity, certificates] = await Promise.all([
    keys.take(scep.keySize).then((pair) => requestIdentity({ http, scep, device, keys: pair })),
    createCertificates(device, device.random.fork('certificates')),
  ]);
  device.profiles = [installed];
  device.certificates = [
    ...caCertificates.map((der) => toDeviceCertificate(der, false)),
    toDeviceCertificate(identity.certificate, true),
    ...certificates,
  ];
  const client = new MdmClient(http, mdm, identity);
  await checkIn(device, client, mdm);
  const { topic } = mdm;
  const user = asUser ? userWithChannel(device, mdm) : undefined;
  return {
    ...{ device, http, keys, mdm: client, identity, topic, postponed: new Set() },
    ...(user === undefined ? {} : { user: { user, postponed: new Set() } }),
  };
}

/** In the order of real devices; what only a Mac sends depends on what the server can do. */
async function checkIn(
  device: SimulatedDevice,
  client: MdmClient,
  { topic, serverCapabilities }: EnrollmentProfile['mdm'],
): Promise<void> {
  await client.checkIn(authenticateMessage(device, topic));
  await client.checkIn(tokenUpdateMessage(device, topic));
  const user = userWithChannel(device, { serverCapabilities });
  if (user !== undefined) await client.checkIn(userTokenUpdateMessage(device, { user, topic }));
  const { platform, isSupervised } = device.identity;
  const canEscrow = serverCapabilities.includes('com.apple.mdm.bootstraptoken');
  if (platform === 'macOS' && isSupervised && device.enrollmentId === undefined && canEscrow) {
    await client.checkIn(bootstrapTokenMessage(device));
  }
}

/** The user whom the server talks to apart from the device. */
function userWithChannel(
  { user }: SimulatedDevice,
  { serverCapabilities }: Pick<EnrollmentProfile['mdm'], 'serverCapabilities'>,
): SimulatedUser | undefined {
  return serverCapabilities.includes('com.apple.mdm.per-user-connections') ? user : undefined;
}
