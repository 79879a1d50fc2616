import type { Transaction } from '../db/connection/unit-of-work.js';
import { AppError, type ErrorDetail, validationError } from '../errors.js';
import { hasIllegalCharacter, type PlistDict } from '../protocol/plist/plist.js';
import type { CommandQueue } from './queue.js';

export interface RenamableDevice {
  id: number;
  platform?: unknown;
  is_supervised?: unknown;
  enrollment_type?: unknown;
}

export interface NameChanges {
  device_name?: string | null;
  hostname?: string | null;
}

/** Apple's Settings command, item by item: the attribute, its key, and who can take it. */
const ITEMS = [
  {
    attribute: 'device_name',
    item: 'DeviceName',
    refusal: ({ platform, is_supervised }: RenamableDevice) =>
      platform !== 'macOS' && is_supervised === false
        ? 'only a supervised device can be renamed'
        : undefined,
  },
  {
    attribute: 'hostname',
    item: 'HostName',
    refusal: ({ platform }: RenamableDevice) =>
      typeof platform === 'string' && platform !== 'macOS'
        ? `${platform} has no host name that can be set`
        : undefined,
  },
] as const;

const USERS_OWN = "the device is its user's own (user enrollment) and named by nobody else";

/** Queues one Settings command for all the new names. Returns the ids of the queued commands. */
export async function renameDevice(
  trx: Transaction,
  { device, changes }: { device: RenamableDevice; changes: NameChanges },
  queue: CommandQueue,
): Promise<number[]> {
  const wanted = ITEMS.filter(({ attribute }) => changes[attribute] !== undefined);
  const isUsersOwn = device.enrollment_type === 'user';
  const faults = wanted.flatMap(({ attribute, refusal }) => {
    const detail = isUsersOwn ? USERS_OWN : refusal(device);
    const fault: ErrorDetail[] =
      detail === undefined ? [] : [{ detail, source: pointerTo(attribute) }];
    return fault;
  });
  if (faults.length > 0) {
    const message = faults.map(({ detail }) => detail).join('; ');
    const code = isUsersOwn ? 'forbidden_by_enrollment' : 'unsupported_on_platform';
    throw new AppError(code, 422, message, { details: faults });
  }
  const Settings = wanted.map(({ attribute, item }) => toItem(attribute, item, changes));
  if (Settings.length === 0) return [];
  await queue.target(trx, device.id);
  return [await queue.add(trx, device.id, { requestType: 'Settings', parameters: { Settings } })];
}

function toItem(attribute: keyof NameChanges, item: string, changes: NameChanges): PlistDict {
  const name = changes[attribute];
  const source = pointerTo(attribute);
  if (typeof name !== 'string' || name === '') {
    throw validationError([{ detail: 'an enrolled device cannot be left without a name', source }]);
  }
  if (hasIllegalCharacter(name)) {
    const detail = `${attribute} has a character property lists cannot hold`;
    throw validationError([{ detail, source }]);
  }
  return { Item: item, [item]: name };
}

function pointerTo(attribute: string): { pointer: string } {
  return { pointer: `/data/attributes/${attribute}` };
}
