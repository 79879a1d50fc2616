import { createCertificates, toDeviceCertificate } from './certificates.js';
import type { EnrollmentProfile } from './enrollment-profile.js';
import type { HttpClient } from './http-client.js';
import type { KeyPool } from './key-pool.js';
import { MdmClient } from './mdm-client.js';
import {
  authenticateMessage,
  bootstrapTokenMessage,
  tokenUpdateMessage,
  userTokenUpdateMessage,
} from './messages.js';
import type { DeviceSession } from './poll.js';
import { requestIdentity } from './scep-client.js';
import type { SimulatedDevice } from './simulated-device.js';

export interface EnrollOptions {
  http: HttpClient;
  profile: EnrollmentProfile;
  keys: KeyPool;
}

/** Installs the profile as a person who taps Install would: keys, SCEP, Authenticate, TokenUpdate. */
export async function enroll(
  device: SimulatedDevice,
  { http, profile, keys }: EnrollOptions,
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
  return { device, http, keys, mdm: client, identity, topic, postponed: new Set() };
}

/** In the order of real devices; what only a Mac sends depends on what the server can do. */
async function checkIn(
  device: SimulatedDevice,
  client: MdmClient,
  { topic, serverCapabilities }: EnrollmentProfile['mdm'],
): Promise<void> {
  await client.checkIn(authenticateMessage(device, topic));
  await client.checkIn(tokenUpdateMessage(device, topic));
  const { platform, isSupervised } = device.identity;
  if (platform !== 'macOS') return;
  if (serverCapabilities.includes('com.apple.mdm.per-user-connections')) {
    await client.checkIn(userTokenUpdateMessage(device, topic));
  }
  if (isSupervised && serverCapabilities.includes('com.apple.mdm.bootstraptoken')) {
    await client.checkIn(bootstrapTokenMessage(device));
  }
}
