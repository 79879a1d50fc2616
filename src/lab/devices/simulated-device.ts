import type { PlistDict, PlistInput } from '../../protocol/plist/plist.js';
import { type Application, createApplications } from './applications.js';
import type { Behavior } from './behavior.js';
import { createIdentity, type DeviceIdentity } from './device-identity.js';
import type { DeviceKind, LabPlatform } from './device-models.js';
import type { InstalledProfile } from './profiles.js';
import type { Random } from './random.js';
import { newRecoveryKey, type RecoveryKey } from './recovery-key.js';
import { createSimulatedUser, type SimulatedUser } from './simulated-user.js';

export interface DeviceCertificate {
  commonName: string;
  der: Buffer;
  isIdentity: boolean;
}

/** A Mac with Apple silicon has a recovery lock, one with an Intel processor a firmware password. */
interface StartupLocks {
  /** Empty when there is none. */
  recoveryPassword: string;
  /** Empty when there is none. */
  firmwarePassword: string;
  /** Whether option ROMs may start while there is a firmware password. */
  allowsOptionRoms: boolean;
}

/** A device that exists only here: what it is, and what commands change about it. */
export interface SimulatedDevice {
  readonly identity: DeviceIdentity;
  readonly random: Random;
  readonly pushToken: Buffer;
  readonly pushMagic: string;
  /** Only iOS has one: its holder can remove the passcode. */
  readonly unlockToken: Buffer | undefined;
  /** Every Mac has one, of iPads those that are shared. */
  readonly user: SimulatedUser | undefined;
  behavior: Behavior;
  /** Identifies a personal device to its server, once it has enrolled as one. */
  enrollmentId: string | undefined;
  /** Stays in Setup Assistant until DeviceConfigured. */
  isAwaitingConfiguration: boolean;
  deviceName: string;
  hostName: string;
  hasPasscode: boolean;
  /** FileVault recovery key; used by Macs only. */
  recoveryKey: RecoveryKey;
  /** Passwords that a Mac asks for before it starts from another volume. */
  startupLocks: StartupLocks;
  /** Undefined once the server has cleared it. */
  activationLockBypassCode: string | undefined;
  isLost: boolean;
  isRemoteDesktopEnabled: boolean;
  isErased: boolean;
  /** Its enrollment profile was removed: it sends CheckOut and is managed no longer. */
  isReleased: boolean;
  isVoiceRoamingEnabled: boolean;
  isDataRoamingEnabled: boolean;
  isHotspotEnabled: boolean;
  timeZone: string;
  organizationInfo: PlistInput | undefined;
  /** As set by the server. */
  mdmOptions: Record<string, PlistInput>;
  batteryLevel: number;
  availableCapacity: number;
  applications: Application[];
  certificates: DeviceCertificate[];
  profiles: InstalledProfile[];
  readonly provisioningProfiles: Map<string, PlistDict>;
  /** Books that the server has installed, as ManagedMediaList reports them. */
  readonly books: Map<string, PlistDict>;
  /** What ScheduleOSUpdate has set, by product key. */
  readonly scheduledUpdates: Map<string, string>;
  /** Payload types of profiles that it refuses. */
  readonly refusedPayloads: readonly string[];
  /** Identifiers of profiles that its user removes once the server has seen them in a list. */
  readonly profilesToLose: Set<string>;
}

const TIME_ZONES = ['America/New_York', 'Europe/Berlin', 'Europe/London', 'Asia/Tokyo'] as const;

function hostNameOf(deviceName: string): string {
  const ascii = deviceName.normalize('NFKD').replaceAll(/[^A-Za-z0-9 -]/g, '');
  return ascii.trim().replaceAll(/\s+/g, '-');
}

function unlockToken(random: Random): Buffer {
  return Buffer.concat([Buffer.from('DATA'), random.bytes(random.integer(1100, 1400))]);
}

const BYPASS_ALPHABET = '0123456789ACDEFGHJKLMNPQRTUVWXYZ';

/** As Apple writes them: six groups with 26 characters. */
function newBypassCode(random: Random): string {
  return [5, 5, 4, 4, 4, 4].map((length) => random.text(BYPASS_ALPHABET, length)).join('-');
}

export interface SimulatedDeviceOptions {
  platform: LabPlatform;
  random: Random;
  /** A random one when absent. */
  serialNumber?: string | undefined;
  /** Chooses the model, if there is one of this kind; a random one of the platform when absent. */
  kind?: DeviceKind | undefined;
  /** Random when absent. */
  isSupervised?: boolean | undefined;
  /** iPads are shared; their users await UserConfigured if the iPad awaits DeviceConfigured. */
  isShared?: boolean;
  isAwaitingConfiguration?: boolean;
  refusedPayloads?: readonly string[] | undefined;
  /** Well when absent. */
  behavior?: Behavior | undefined;
  profilesToLose?: readonly string[] | undefined;
}

function identityFor({ serialNumber, isSupervised, ...rest }: SimulatedDeviceOptions) {
  const identity = createIdentity(rest.platform, rest.random.fork('identity'), rest.kind);
  return {
    ...identity,
    serialNumber: serialNumber ?? identity.serialNumber,
    isSupervised: isSupervised ?? identity.isSupervised,
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
    behavior: options.behavior ?? 'well',
    enrollmentId: undefined,
    isAwaitingConfiguration: options.isAwaitingConfiguration ?? false,
    deviceName,
    hostName: `${hostNameOf(deviceName)}.local`,
    hasPasscode: random.chance(0.8),
    recoveryKey: { text: newRecoveryKey(random.fork('recovery key')) },
    startupLocks: { recoveryPassword: '', firmwarePassword: '', allowsOptionRoms: false },
    activationLockBypassCode: newBypassCode(random.fork('bypass code')),
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
    provisioningProfiles: new Map(),
    books: new Map(),
    scheduledUpdates: new Map(),
    refusedPayloads: options.refusedPayloads ?? [],
    profilesToLose: new Set(options.profilesToLose),
  };
}

/** The name without the domain, as Bonjour knows a Mac. */
export function localHostName(device: SimulatedDevice): string {
  return device.hostName.split('.')[0] ?? device.hostName;
}
