import { clockOf } from '../devices/behavior.js';
import { createCertificates, toDeviceCertificate } from '../devices/certificates.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { SimulatedUser } from '../devices/simulated-user.js';
import { requestIdentity } from '../pki/scep-client.js';
import type { HttpClient } from '../wire/http-client.js';
import { LabError } from '../wire/lab-error.js';
import { MdmClient, type MdmIdentity } from '../wire/mdm-client.js';
import {
  authenticateMessage,
  bootstrapTokenMessage,
  tokenUpdateMessage,
  userTokenUpdateMessage,
} from '../wire/messages.js';
import { obtainByAccount } from './account-driven.js';
import { obtainAutomated } from './automated.js';
import { type EnrollmentProfile, fetchProfile, readProfileFile } from './enrollment-profile.js';
import type { EnrollingDevice, EnrollmentWay } from './enrollment-way.js';
import type { KeyPool } from './key-pool.js';
import { obtainOverTheAir } from './over-the-air.js';

/** The session of a user on the user channel. */
export interface UserSession {
  user: SimulatedUser;
  /** UUIDs of commands answered NotNow. */
  postponed: Set<string>;
}

/** A device that is enrolled. */
export interface DeviceSession {
  device: SimulatedDevice;
  http: HttpClient;
  keys: KeyPool;
  /** These two change when the identity is renewed. */
  mdm: MdmClient;
  identity: MdmIdentity;
  topic: string;
  /** UUIDs of commands answered NotNow. */
  postponed: Set<string>;
  user?: UserSession | undefined;
}

/** Fetches or reads an enrollment profile. Throws LabError or AppError with the reason if it fails. */
export async function obtainProfile(
  enrolling: EnrollingDevice,
  way: EnrollmentWay,
): Promise<EnrollmentProfile> {
  switch (way.enroll) {
    case 'ota':
      return await obtainOverTheAir(enrolling, way);
    case 'ade':
      return await obtainAutomated(enrolling, way);
    case 'account':
      return await obtainByAccount(enrolling, way);
    case 'profile':
      if (way.file !== undefined) return readProfileFile(way.file);
      return await fetchProfile(enrolling.http, way.url, way.token);
  }
}

export interface EnrollOptions {
  http: HttpClient;
  profile: EnrollmentProfile;
  keys: KeyPool;
  /** Users poll for commands on the user channel. */
  asUser?: boolean;
}

/** What follows a tap on Install: keys, SCEP, Authenticate, TokenUpdate. */
export async function enroll(
  device: SimulatedDevice,
  { http, profile, keys, asUser = false }: EnrollOptions,
): Promise<DeviceSession> {
  const { scep, mdm, installed, caCertificates } = profile;
  const [identity, certificates] = await Promise.all([
    keys.get(scep.keySize).then((pair) => requestIdentity({ http, scep, device, keys: pair })),
    createCertificates(device, device.random.fork('certificates')),
  ]);
  device.profiles = [installed];
  device.certificates = [
    ...caCertificates.map((der) => toDeviceCertificate(der, false)),
    toDeviceCertificate(identity.certificate, true),
    ...certificates,
  ];
  const client = new MdmClient(http, mdm, identity, () => clockOf(device));
  await checkIn(device, client, mdm);
  const { topic } = mdm;
  const user = asUser ? userWithChannel(device, mdm) : undefined;
  return {
    device,
    http,
    keys,
    mdm: client,
    identity,
    topic,
    postponed: new Set(),
    user: user && { user, postponed: new Set() },
  };
}

/** In the order of real devices; a Mac sends more if the server's capabilities allow it. */
async function checkIn(
  device: SimulatedDevice,
  client: MdmClient,
  { topic, serverCapabilities }: EnrollmentProfile['mdm'],
): Promise<void> {
  await client.checkIn(authenticateMessage(device, topic));
  if (device.behavior === 'half-enrolled')
    throw new LabError('the device stops after Authenticate');
  await client.checkIn(tokenUpdateMessage(device, topic));
  const user = userWithChannel(device, { serverCapabilities });
  if (user !== undefined) await client.checkIn(userTokenUpdateMessage(device, { user, topic }));
  const { platform, isSupervised } = device.identity;
  const canEscrow = serverCapabilities.includes('com.apple.mdm.bootstraptoken');
  if (platform === 'macOS' && isSupervised && device.enrollmentId === undefined && canEscrow) {
    await client.checkIn(bootstrapTokenMessage(device));
  }
}

/** The user, if the server has a channel for users. */
function userWithChannel(
  { user }: SimulatedDevice,
  { serverCapabilities }: Pick<EnrollmentProfile['mdm'], 'serverCapabilities'>,
): SimulatedUser | undefined {
  return serverCapabilities.includes('com.apple.mdm.per-user-connections') ? user : undefined;
}
