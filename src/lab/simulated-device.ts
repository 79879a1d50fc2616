import type { PlistInput } from '../protocol/plist.js';
import { type Application, createApplications } from './applications.js';
import type { LabPlatform } from './device-models.js';
import { createIdentity, type DeviceIdentity } from './identity.js';
import type { InstalledProfile } from './profiles.js';
import type { Random } from './random.js';

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
}

export function createSimulatedDevice(options: SimulatedDeviceOptions): SimulatedDevice {
  const { platform, random } = options;
  const identity = createIdentity(platform, random.fork('identity'));
  const deviceName = `${identity.owner}’s ${identity.model.modelName}`;
  return {
    identity,
    random: random.fork('life'),
    pushToken: random.bytes(32),
    pushMagic: random.uuid(),
    unlockToken: platform === 'iOS' ? unlockToken(random) : undefined,
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
