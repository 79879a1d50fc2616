import type { PlistInput } from '../../protocol/plist/plist.js';
import type { DeviceKind } from '../enrollment/awaited-devices.js';
import type { Random } from '../fleet/random.js';
import { createIdentity, type DeviceIdentity } from '../wire/identity.js';
import { type Application, createApplications } from './applications.js';
import type { LabPlatform } from './device-models.js';
import type { InstalledProfile } from './profiles.js';
import { createSimulatedUser, type SimulatedUser } from './simulated-user.js';

export interface DeviceCertificate {
  commonName: string;
  der: Buffer;
  isIdentity: boolean;
}

/** A device that exists only here: what it is, and what commands change about it. */
export interface SimulatedDevice {
  readonly identity: DeviceIdentity;
  readonly random: Random;
  readonly pushToken: Buffer;
  readonly pushMagic: string;
  /** Only iOS has one: whoever holds it can take the passcode off. */
  readonly unlockToken: Buffer | undefined;
  /** Every Mac has one, of iPads those that are shared. */
  readonly user: SimulatedUser | undefined;
  /** What a device that a person owns is known by, once it enrolls as such. */
  enrollmentId: string | undefined;
  /** Stays in Setup Assistant until DeviceConfigured. */
  isAwaitingConfiguration: boolean;
  deviceName: string;
  hostName: string;
  hasPasscode: boolean;
  isLost: boolean;
  isRemoteDesktopEnabled: boolean;
  isErased: boolean;
  /** The enrollment profile was taken off it: it says goodbye and is managed no longer. */
  isReleased: boolean;
  isVoiceRoamingEnabled: boolean;
  isDataRoamingEnabled: boolean;
  isHotspotEnabled: boolean;
  timeZone: string;
  organizationInfo: PlistInput | undefined;
  /** What MDMOptions tells, once the server has set it. */
  mdmOptions: Record<string, PlistInput>;
  batteryLevel: number;
  availableCapacity: number;
  applications: Application[];
  certificates: DeviceCertificate[];
  profiles: InstalledProfile[];
}

const TIME_ZONES = ['America/New_York', 'Europe/Berlin', 'Europe/London', 'Asia/Tokyo'] as const;

function hostNameOf(deviceName: string): string {
  const ascii = deviceName.normalize('NFKD').replaceAll(/[^A-Za-z0-9 -]/g, '');
  return ascii.trim().replaceAll(/\s+/g, '-');
}

function unlockToken(random: Random): Buffer {
  return Buffer.concat([Buffer.from('DATA'), random.bytes(random.integer(1100, 1400))]);
}

export interface SimulatedDeviceOptions {
  platform: LabPlatform;
  random: Random;
  /** A random one when absent. */
  serialNumber?: string;
  /** What it is to be, as far as there is such a model; a random one of the platform when absent. */
  kind?: DeviceKind;
  /** One of two when absent. */
  isSupervised?: boolean;
  /** iPads are shared by users, and wait for each to be configured where they wait themselves. */
  isShared?: boolean;
  isAwaitingConfiguration?: boolean;
}

function identityFor({ serialNumber, isSupervised, ...rest }: SimulatedDeviceOptions) {
  const identity = createIdentity(rest.platform, rest.random.fork('identity'), rest.kind);
  return {
    ...identity,
    ...(serialNumber === undefined ? {} : { serialNumber }),
    ...(isSupervised === undefined ? {} : { isSupervised }),
  };
}

function userOf(
  { platform, model, owner }: DeviceIdentity,
  options: SimulatedDeviceOptions & { life: Random },
): SimulatedUser | undefined {
  const { isShared = false, isAwaitingConfiguration = false, life } = options;
  const random = life.fork('user');
  if (platform === 'macOS') return createSimulatedUser({ name: owner, isShared: false, random });
  if (!isShared || model.modelName !== 'iPad') return undefined;
  const user = createSimulatedUser({ name: owner, isShared: true, random });
  return { ...user, isAwaitingConfiguration };
}

export function createSimulatedDevice(options: SimulatedDeviceOptions): SimulatedDevice {
  const { platform, random } = options;
  const identity = identityFor(options);
  const life = random.fork('life');
  const deviceName = `${identity.owner}’s ${identity.model.modelName}`;
  return {
    identity,
    random: life,
    pushToken: random.bytes(32),
    pushMagic: random.uuid(),
    unlockToken: platform === 'iOS' ? unlockToken(random) : undefined,
    user: userOf(identity, { ...options, life }),
    enrollmentId: undefined,
    isAwaitingConfiguration: options.isAwaitingConfiguration ?? false,
    deviceName,
    hostName: `${hostNameOf(deviceName)}.local`,
    hasPasscode: random.chance(0.8),
    isLost: false,
    isRemoteDesktopEnabled: false,
    isErased: false,
    isReleased: false,
    isVoiceRoamingEnabled: random.chance(0.3),
    isDataRoamingEnabled: random.chance(0.3),
    isHotspotEnabled: random.chance(0.2),
    timeZone: random.pick(TIME_ZONES),
    organizationInfo: undefined,
    mdmOptions: {},
    batteryLevel: random.integer(5, 100) / 100,
    availableCapacity: identity.capacity * (0.05 + random.fraction() * 0.8),
    applications: createApplications(platform, random.fork('applications')),
    certificates: [],
    profiles: [],
  };
}

/** The name without the domain, as Bonjour knows a Mac. */
export function localHostName(device: SimulatedDevice): string {
  return device.hostName.split('.')[0] ?? device.hostName;
}
