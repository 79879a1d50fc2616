import { DEVICE_MODELS, type DeviceModel } from '../devices/device-models.js';

export type ProfileStatus = 'empty' | 'assigned' | 'pushed' | 'removed';

/** A device assigned to a server. Times are milliseconds since 1970. */
export interface DepDevice {
  readonly serial: string;
  readonly kind: DeviceKind;
  readonly assignedAt: number;
  profile: string | undefined;
  status: ProfileStatus;
  profileAssignedAt: number;
  profilePushedAt: number;
  /** Removed from the server; kept for clients that continue at an old cursor. */
  isGone: boolean;
  isLocked: boolean;
}

const ASSIGNED_BY = 'admin@lab.example';

/** A time in Apple's format. */
export function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}

export function createDevice(serial: string, kind: DeviceKind, assignedAt: number): DepDevice {
  return {
    serial,
    kind,
    assignedAt,
    profile: undefined,
    status: 'empty',
    profileAssignedAt: 0,
    profilePushedAt: 0,
    isGone: false,
    isLocked: false,
  };
}

/** The device as Apple lists it. */
export function listedDevice(device: DepDevice): Record<string, string> {
  const { serial, kind, assignedAt } = device;
  return {
    serial_number: serial,
    ...kind,
    asset_tag: '',
    ...profileFacts(device),
    device_assigned_by: ASSIGNED_BY,
    device_assigned_date: timeText(assignedAt),
  };
}

/** What Apple lists of a device besides its serial number; shared by devices of one kind. */
export interface DeviceKind {
  device_family: string;
  model: string;
  description: string;
  color: string;
  os: string;
}

export const FAMILIES = ['iPhone', 'iPad', 'Mac', 'AppleTV', 'Vision'] as const;

export type DeviceFamily = (typeof FAMILIES)[number];

const SHORT_NAMES: [RegExp, string][] = [
  [/^MACBOOK PRO/, 'MBP'],
  [/^MACBOOK AIR/, 'MBA'],
];

export const DEVICE_KINDS: Readonly<Record<DeviceFamily, readonly DeviceKind[]>> = {
  iPhone: kinds('iPhone', 'iOS', DEVICE_MODELS.iOS.filter(isFamily('iPhone'))),
  iPad: kinds('iPad', 'iOS', DEVICE_MODELS.iOS.filter(isFamily('iPad'))),
  Mac: kinds('Mac', 'OSX', DEVICE_MODELS.macOS),
  AppleTV: [
    {
      device_family: 'AppleTV',
      model: 'Apple TV 4K',
      os: 'tvOS',
      description: 'APPLE TV 4K 64GB-USA',
      color: 'BLACK',
    },
  ],
  Vision: [
    {
      device_family: 'Vision',
      model: 'Apple Vision Pro',
      os: 'visionOS',
      description: 'APPLE VISION PRO 256GB-USA',
      color: 'SILVER',
    },
  ],
};

const ALL = new Map(
  Object.values(DEVICE_KINDS)
    .flat()
    .map((kind) => [kindName(kind), kind]),
);

export function kindName({ device_family, description }: DeviceKind): string {
  return `${device_family}/${description}`;
}

export function kindOf(name: string): DeviceKind | undefined {
  return ALL.get(name);
}

function profileFacts(device: DepDevice): Record<string, string | undefined> {
  const { profile, status, profileAssignedAt, profilePushedAt } = device;
  if (profile === undefined) return { profile_status: status };
  return {
    profile_uuid: profile,
    profile_status: status,
    profile_assign_time: timeText(profileAssignedAt),
    profile_push_time: status === 'pushed' ? timeText(profilePushedAt) : undefined,
  };
}

function kinds(family: DeviceFamily, os: string, models: readonly DeviceModel[]): DeviceKind[] {
  const colors = ['SPACE GRAY', 'SILVER'];
  return models.map(({ marketingName: model, capacities: [capacity = 128] }, index) => {
    const color = colors[index % colors.length] ?? 'SILVER';
    return {
      device_family: family,
      model,
      description: describe(model, color, capacity),
      color,
      os,
    };
  });
}

function isFamily(family: string): (model: DeviceModel) => boolean {
  return ({ modelName }) => modelName === family;
}

/** In Apple's style: MBP 13.3 SPACE GRAY/2.0GHZ/8GB/256GB-USA. */
function describe(model: string, color: string, capacity: number): string {
  const short = SHORT_NAMES.reduce(
    (name, [from, to]) => name.replace(from, to),
    model.toUpperCase(),
  );
  return `${short} ${color}/${capacity}GB-USA`;
}
