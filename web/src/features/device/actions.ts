// Imports with extensions: tests that run in Node read this file, too.
import type { ApiRequest } from '../../api/request.js';

/** Requests of Apple's that the page has a button for, by their names. */
export const ACTION_NAMES = [
  'DeviceLock',
  'RestartDevice',
  'ShutDownDevice',
  'ClearPasscode',
  'EnableLostMode',
  'DisableLostMode',
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

export interface Offer {
  name: ActionName;
  isDestructive: boolean;
  /** Why the device cannot take it; undefined: it can. */
  reason: Reason | undefined;
}

interface Asker {
  /** Of the person who is signed in. */
  role: string | undefined;
  isLost: boolean;
  /** Whether the server has the token that clears the passcode; undefined: not read yet. */
  hasUnlockToken: boolean | undefined;
}

const NO_UNLOCK_TOKEN: Reason = {
  code: 'no_unlock_token',
  detail: 'the device has escrowed no unlock token in its present enrollment',
};

/** What the role may send, in the order of the buttons. Lost Mode is either on or off. */
export function offersOf(types: readonly CommandType[], asker: Asker): Offer[] {
  const { role, isLost, hasUnlockToken } = asker;
  return ACTION_NAMES.flatMap((name) => {
    const type = types.find(({ request_type: requestType }) => requestType === name);
    if (type === undefined || !isAllowed(role, type.role)) return [];
    if (name === (isLost ? 'EnableLostMode' : 'DisableLostMode')) return [];
    const reasons = type.eligible === false ? (type.reasons as Reason[]) : [];
    // Eligibility is of the platform and the enrollment: the token is read by itself.
    const lacksToken = name === 'ClearPasscode' && hasUnlockToken === false;
    const [reason] = lacksToken ? [...reasons, NO_UNLOCK_TOKEN] : reasons;
    return [{ name, isDestructive: type.is_destructive ?? true, reason }];
  });
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

/** Names have signs that keyboards lack: quotes and spaces of each kind are alike. */
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
    .trim();
}
