// Imports with extensions: tests that run in Node read this file, too.
import type { ApiRequest } from '../../../api/request.js';

/** Requests of Apple's that the page has a button for, by their names. */
export const ACTION_NAMES = [
  'DeviceLock',
  'RestartDevice',
  'ShutDownDevice',
  'ClearPasscode',
  'EnableLostMode',
  'DisableLostMode',
  // Renames it.
  'Settings',
  'EraseDevice',
] as const;
export type ActionName = (typeof ACTION_NAMES)[number];

export interface CommandType {
  request_type?: string | undefined;
  role?: string | undefined;
  is_destructive?: boolean | undefined;
  eligible?: boolean | undefined;
  reasons?: unknown;
}

export interface Reason {
  code: string;
  detail: string;
}

/** No command: it deletes what the server has of the device. */
const DELETION = 'Delete';
export type OfferName = ActionName | typeof DELETION;

export interface Offer {
  name: OfferName;
  /** A dialog asks for more before anything is sent. */
  hasDialog: boolean;
  /** Why the device cannot take it; undefined: it can. */
  reason: Reason | undefined;
}

export interface Asker {
  /** Of the person who is signed in. */
  role: string | undefined;
  device: {
    is_enrolled?: boolean | null | undefined;
    platform?: string | null | undefined;
    enrollment_type?: string | null | undefined;
    is_supervised?: boolean | null | undefined;
    is_mdm_lost_mode_enabled?: boolean | null | undefined;
  };
  /** Whether the server has the token that clears the passcode; undefined: not read yet. */
  hasUnlockToken: boolean | undefined;
}

/** As the server says it of a device that has left; it also queues for one that has yet to enroll. */
const NOT_ENROLLED: Reason = { code: 'device_unenrolled', detail: 'the device is not enrolled' };
const NO_UNLOCK_TOKEN: Reason = {
  code: 'no_unlock_token',
  detail: 'the device has escrowed no unlock token in its present enrollment',
};
const NOT_SUPERVISED: Reason = {
  code: 'not_supervised',
  detail: 'only a supervised device can be renamed',
};
const NEEDS_ADMIN: Reason = {
  code: 'needs_admin',
  detail: 'deleting a device needs the role admin',
};
const USERS_OWN: Reason = {
  code: 'forbidden_by_enrollment',
  detail: 'the device is its own user’s, and named by nobody else',
};

/** What the role may send, in the order of the buttons. Lost Mode is either on or off. */
export function offersOf(types: readonly CommandType[], asker: Asker): Offer[] {
  const isLost = asker.device.is_mdm_lost_mode_enabled === true;
  return ACTION_NAMES.flatMap((name) => {
    const type = types.find(({ request_type: requestType }) => requestType === name);
    if (type === undefined || !isAllowed(asker.role, type.role)) return [];
    if (name === (isLost ? 'EnableLostMode' : 'DisableLostMode')) return [];
    const reasons = type.eligible === false ? (type.reasons as Reason[]) : [];
    const [first = ownReason(name, asker)] = reasons;
    const reason = asker.device.is_enrolled === true ? first : NOT_ENROLLED;
    const hasDialog = name === 'Settings' || (type.is_destructive ?? true);
    return [{ name, hasDialog, reason }];
  });
}

/** The last of the offers. A device need not be enrolled for it. */
export function deletionFor(role: string | undefined): Offer[] {
  if (role !== 'admin' && role !== 'operator') return [];
  return [{ name: DELETION, hasDialog: true, reason: role === 'admin' ? undefined : NEEDS_ADMIN }];
}

export function deletionRequest(id: number): ApiRequest {
  return { method: 'DELETE', path: `/api/v1/devices/${id}` };
}

/** Eligibility is of the whole command: the token, and the one setting, are looked at here. */
function ownReason(name: ActionName, { device, hasUnlockToken }: Asker): Reason | undefined {
  if (name === 'ClearPasscode') return hasUnlockToken === false ? NO_UNLOCK_TOKEN : undefined;
  if (name !== 'Settings') return undefined;
  if (device.enrollment_type === 'user') return USERS_OWN;
  const isUnsupervised = device.platform !== 'macOS' && device.is_supervised === false;
  return isUnsupervised ? NOT_SUPERVISED : undefined;
}

function isAllowed(role: string | undefined, least: string | undefined): boolean {
  return role === 'admin' || (role === 'operator' && least === 'operator');
}

/** Empty texts are left out. The server knows the token that clears a passcode. */
export function actionRequest(
  id: number,
  name: ActionName,
  texts: Readonly<Record<string, string>> = {},
): ApiRequest {
  const method = 'POST';
  if (name === 'ClearPasscode') return { method, path: `/api/v1/devices/${id}/clear_passcode` };
  const filled = Object.entries(texts).filter(([, value]) => value.trim() !== '');
  const parameters = filled.length === 0 ? {} : { parameters: Object.fromEntries(filled) };
  const attributes = { request_type: name, ...parameters };
  return {
    method,
    path: `/api/v1/devices/${id}/commands`,
    body: { data: { type: 'commands', attributes } },
  };
}

/** Sets the name, and has the device report it: otherwise the next inventory would show it. */
export function renameRequests(id: number, name: string): [ApiRequest, ApiRequest] {
  const attributes = {
    request_type: 'DeviceInformation',
    parameters: { Queries: ['DeviceName'] },
  };
  return [
    {
      method: 'PATCH',
      path: `/api/v1/devices/${id}`,
      body: { data: { type: 'devices', id, attributes: { device_name: name } } },
    },
    {
      method: 'POST',
      path: `/api/v1/devices/${id}/commands`,
      body: { data: { type: 'commands', attributes } },
    },
  ];
}

/** What a dialog asks for besides the name; a PIN needs the role admin, and only Macs have one. */
export function fieldsOf(
  name: ActionName,
  { platform, role }: { platform: string | null | undefined; role: string | undefined },
): string[] {
  const pin = platform === 'macOS' && role === 'admin' ? ['PIN'] : [];
  if (name === 'EraseDevice') return pin;
  if (name === 'EnableLostMode') return ['Message', 'PhoneNumber'];
  if (name !== 'DeviceLock' || platform === 'visionOS') return [];
  return ['Message', ...pin];
}

/** Names have signs that keyboards lack: quotes and spaces of each kind are alike, and so are both cases. */
export function isTyped(typed: string, names: readonly (string | null | undefined)[]): boolean {
  const wanted = plain(typed);
  return wanted !== '' && names.some((name) => plain(name ?? '') === wanted);
}

function plain(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[‘’‚ʼ]/g, "'")
    .replace(/[“”„]/g, '"')
    .replace(/[‐‑–—]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase();
}
