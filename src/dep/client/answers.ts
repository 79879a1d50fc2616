import { z } from 'zod';
import { visibleText } from './answer-texts.js';
import type { AccountDetail, DevicePage, ListedDevice, SerialResults } from './dep-api.js';

// Lenient: a missing or malformed member becomes null, since one bad member must not lose a page.
const anything = z.unknown().optional();

const text = anything.transform(readText);

const date = anything.transform(readDate);

const uuid = anything.transform(readUuid);

/** undefined for a body that is not JSON. */
export function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const SERIAL = /^[\x21-\x7e]{1,64}$/;

const MAX_CURSOR = 4_096;

const DEVICE = z.object({
  serial_number: z.string().trim().regex(SERIAL),
  model: text,
  description: text,
  color: text,
  asset_tag: text,
  os: text,
  device_family: text,
  device_assigned_by: text,
  device_assigned_date: date,
  profile_uuid: uuid,
  profile_status: text,
  profile_assign_time: date,
  profile_push_time: date,
  op_type: oneOf('added', 'modified', 'deleted'),
  op_date: date,
});

// Strict: another document would be read as an account without devices.
const PAGE = z.object({
  devices: z.array(z.unknown()),
  cursor: z.string().min(1).max(MAX_CURSOR),
  more_to_follow: z.boolean(),
  fetched_until: date,
});

/** undefined for a value that is not a page. Devices without a usable serial number are skipped. */
export function readPage(value: unknown): DevicePage | undefined {
  const { data } = PAGE.safeParse(value);
  if (data === undefined) return undefined;
  const devices = data.devices.flatMap((device) => {
    const { data: read } = DEVICE.safeParse(device);
    return read === undefined ? [] : [listedDevice(read)];
  });
  const { cursor, more_to_follow: moreToFollow, fetched_until: fetchedUntil } = data;
  const skipped = data.devices.length - devices.length;
  return { devices, skipped, cursor, moreToFollow, fetchedUntil };
}

const ACCOUNT = z.object({
  server_name: text,
  server_uuid: text,
  admin_id: text,
  facilitator_id: text,
  org_name: text,
  org_email: text,
  org_phone: text,
  org_address: text,
  org_id: text,
  org_id_hash: text,
  org_type: oneOf('edu', 'org'),
  org_version: oneOf('v1', 'v2'),
});

export function readAccount(value: unknown): AccountDetail | undefined {
  const { data } = ACCOUNT.safeParse(value);
  // Apple always names the server.
  if (!data?.server_name && !data?.server_uuid) return undefined;
  return {
    serverName: data.server_name,
    serverUuid: data.server_uuid,
    adminId: data.admin_id,
    facilitatorId: data.facilitator_id,
    orgName: data.org_name,
    orgEmail: data.org_email,
    orgPhone: data.org_phone,
    orgAddress: data.org_address,
    orgId: data.org_id,
    orgIdHash: data.org_id_hash,
    orgType: data.org_type,
    orgVersion: data.org_version,
  };
}

const DEFINITION = z.object({ profile_uuid: uuid });

export function readDefinition(value: unknown): string | undefined {
  return DEFINITION.safeParse(value).data?.profile_uuid ?? undefined;
}

const RESULTS = z.object({
  devices: z.custom<object>(
    (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
  ),
  retry_after_seconds: z.number().min(0).max(86_400).optional().catch(undefined),
});

const MAX_RESULT = 100;

/** Results by serial number; serial numbers that Apple leaves out are missing. */
export function readResults(value: unknown, now: number): SerialResults | undefined {
  const { data } = RESULTS.safeParse(value);
  if (data === undefined) return undefined;
  const results: [string, string][] = [];
  for (const [serial, given] of Object.entries(data.devices)) {
    const result = readText(given)?.slice(0, MAX_RESULT);
    if (result !== undefined) results.push([serial, result]);
  }
  const wait = data.retry_after_seconds;
  return Object.assign(new Map(results), wait && { retryAt: new Date(now + wait * 1000) });
}

const LOCK = z.object({ serial_number: text, response_status: text });

export function readLock(value: unknown, serialNumber: string): SerialResults | undefined {
  const status = LOCK.safeParse(value).data?.response_status;
  return status ? new Map([[serialNumber, status.slice(0, MAX_RESULT)]]) : undefined;
}

/** PostgreSQL indexes no more than 2,704 bytes, and a UTF-16 unit may take three. */
const MAX_TEXT = 600;

/** Years that JavaScript and PostgreSQL both accept. */
const DATE = /^(19[7-9]\d|[2-9]\d{3})-\d\d-\d\d(T|$)/;

/** Without invisible characters; null if empty or not a string. */
export function readText(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = visibleText(value.slice(0, MAX_TEXT));
  return text === '' ? null : text;
}

/** In Apple's form: upper case without dashes. */
export function writeUuid(uuid: string): string {
  return uuid.replaceAll('-', '').toUpperCase();
}

/** An ISO 8601 date as Apple writes it; null for anything else. */
function readDate(value: unknown): Date | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** 32 hexadecimal digits with or without dashes -> lower case with dashes; null for anything else. */
function readUuid(value: unknown): string | null {
  const digits = typeof value === 'string' ? value.replaceAll('-', '').toLowerCase() : '';
  if (!/^[0-9a-f]{32}$/.test(digits)) return null;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** null for any other value. */
function oneOf<const T extends string>(...words: T[]) {
  return anything.transform((value) => words.find((word) => word === value) ?? null);
}

function listedDevice(device: z.infer<typeof DEVICE>): ListedDevice {
  const { model, description, color, os } = device;
  const hasProfile = device.profile_status !== 'empty' && device.profile_status !== 'removed';
  return {
    serialNumber: device.serial_number,
    model,
    description,
    color,
    os,
    assetTag: device.asset_tag,
    deviceFamily: device.device_family,
    deviceAssignedBy: device.device_assigned_by,
    deviceAssignedDate: device.device_assigned_date,
    profileUuid: hasProfile ? device.profile_uuid : null,
    profileStatus: device.profile_status,
    profileAssignTime: device.profile_assign_time,
    profilePushTime: device.profile_push_time,
    opType: device.op_type,
    opDate: device.op_date,
  };
}
