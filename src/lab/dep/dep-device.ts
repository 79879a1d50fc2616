import type { DeviceKind } from './device-kinds.js';

export type ProfileStatus = 'empty' | 'assigned' | 'pushed' | 'removed';

/** A device that Apple knows to belong to a server. Times are milliseconds since 1970. */
export interface DepDevice {
  readonly serial: string;
  readonly kind: DeviceKind;
  readonly assignedAt: number;
  profile: string | undefined;
  status: ProfileStatus;
  profileAssignedAt: number;
  profilePushedAt: number;
  /** Taken from the server: kept for whoever reads on at an old cursor. */
  isGone: boolean;
  isLocked: boolean;
}

const ASSIGNED_BY = 'admin@lab.example';

/** As Apple writes times. */
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

function profileFacts(device: DepDevice): Record<string, string> {
  const { profile, status, profileAssignedAt, profilePushedAt } = device;
  if (profile === undefined) return { profile_status: status };
  return {
    profile_uuid: profile,
    profile_status: status,
    profile_assign_time: timeText(profileAssignedAt),
    ...(status === 'pushed' ? { profile_push_time: timeText(profilePushedAt) } : {}),
  };
}

/** As Apple lists it. */
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
