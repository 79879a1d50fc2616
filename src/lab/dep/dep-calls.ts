import { z } from 'zod';
import { listedDevice } from './dep-device.js';
import { DepRefusal, malformed } from './dep-refusal.js';
import { fetchPage, type PageCursors, syncPage } from './device-pages.js';
import type { MdmServer, ProfileDefinition } from './mdm-server.js';
import { checkProfile } from './profile-checks.js';

/** One call of a client with a session. */
export interface DepCall {
  server: MdmServer;
  cursors: PageCursors;
  query: URLSearchParams;
  /** Parsed JSON; an empty object where there was no body. */
  body: unknown;
  /** The result that a fault rule sets for the serial number; undefined: the real result. */
  resultFor(serial: string): string | undefined;
}

/** Returns the body of a 200 answer. */
type Handler = (call: DepCall) => object;

const MAX_SERIALS = 1_000;

const pageBody = z.object({
  cursor: z.string().optional(),
  limit: z.int().min(1).max(1000).default(100),
});
const serial = z.string().min(1).max(100);
const devicesBody = z.object({ devices: z.array(serial).max(MAX_SERIALS).default([]) });
const lockBody = z.object({
  device: serial.optional(),
  escrow_key: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .optional(),
  lost_message: z.string().optional(),
});

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const { success, data } = schema.safeParse(body);
  if (!success) throw malformed();
  return data;
}

function serialsOf(body: unknown): string[] {
  const { devices } = read(devicesBody, body);
  if (devices.length === 0) throw new DepRefusal(400, 'DEVICE_ID_REQUIRED');
  return devices;
}

/** Results by serial number; `work` is skipped for those with a result of a fault rule. */
function forEachSerial(
  { resultFor }: DepCall,
  serials: readonly string[],
  work: (serial: string) => string,
): Record<string, string> {
  return Object.fromEntries(serials.map((serial) => [serial, resultFor(serial) ?? work(serial)]));
}

function profileUuid(server: MdmServer, uuid: unknown): string {
  if (typeof uuid !== 'string' || uuid === '') {
    throw new DepRefusal(400, 'PROFILE_UUID_REQUIRED');
  }
  if (!server.profiles.has(uuid)) throw new DepRefusal(404, 'PROFILE_NOT_FOUND');
  return uuid;
}

const describeDevices: Handler = ({ server, body }) => {
  const entries = serialsOf(body).map((serial) => {
    const device = server.find(serial);
    if (device === undefined) return [serial, { response_status: 'NOT_ACCESSIBLE' }];
    return [serial, { ...listedDevice(device), response_status: 'SUCCESS' }];
  });
  return { devices: Object.fromEntries(entries) };
};

const defineProfile: Handler = (call) => {
  const { server } = call;
  const { devices, ...profile } = read(z.record(z.string(), z.unknown()), call.body);
  checkProfile({ ...profile, devices });
  const serials = read(devicesBody, { devices }).devices;
  const uuid = server.define(profile as ProfileDefinition);
  const results = forEachSerial(call, serials, (serial) => server.assign(serial, uuid));
  return { profile_uuid: uuid, devices: results };
};

const showProfile: Handler = ({ server, query }) => {
  const uuid = profileUuid(server, query.get('profile_uuid'));
  return { profile_uuid: uuid, ...server.profiles.get(uuid) };
};

const assignProfile: Handler = (call) => {
  const { server } = call;
  const { profile_uuid } = read(z.object({ profile_uuid: z.unknown().optional() }), call.body);
  const serials = serialsOf(call.body);
  const uuid = profileUuid(server, profile_uuid);
  const devices = forEachSerial(call, serials, (serial) => server.assign(serial, uuid));
  return { profile_uuid: uuid, devices };
};

const removeProfile: Handler = (call) => {
  const serials = serialsOf(call.body);
  return { devices: forEachSerial(call, serials, (serial) => call.server.unassign(serial)) };
};

const disown: Handler = (call) => {
  const serials = serialsOf(call.body);
  return { devices: forEachSerial(call, serials, (serial) => call.server.remove(serial)) };
};

const lock: Handler = (call) => {
  const { device: serial } = read(lockBody, call.body);
  if (serial === undefined) throw new DepRefusal(400, 'DEVICE_ID_REQUIRED');
  const work = () => {
    const device = call.server.find(serial);
    if (device === undefined) return 'NOT_ACCESSIBLE';
    if (device.isLocked) return 'DEVICE_ALREADY_LOCKED';
    device.isLocked = true;
    return 'SUCCESS';
  };
  return { serial_number: serial, response_status: call.resultFor(serial) ?? work() };
};

/** By path and method; all of them need a session. */
export const DEP_CALLS: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  '/account': { GET: ({ server }) => accountDocument(server) },
  '/server/devices': {
    POST: ({ server, cursors, body }) => fetchPage(server, cursors, read(pageBody, body)),
  },
  '/devices/sync': {
    POST: ({ server, cursors, body }) => syncPage(server, cursors, read(pageBody, body)),
  },
  '/devices': { POST: describeDevices },
  '/devices/disown': { POST: disown },
  '/device/activationlock': { POST: lock },
  '/profile': { GET: showProfile, POST: defineProfile },
  '/profile/devices': { PUT: assignProfile, POST: assignProfile, DELETE: removeProfile },
};

const LIMIT = { default: 100, maximum: 1000 };

const URLS = [
  { uri: '/session', http_method: ['GET'] },
  { uri: '/account', http_method: ['GET'] },
  { uri: '/server/devices', http_method: ['POST'], limit: LIMIT },
  { uri: '/devices/sync', http_method: ['POST'], limit: LIMIT },
  { uri: '/devices', http_method: ['POST'] },
  { uri: '/devices/disown', http_method: ['POST'] },
  { uri: '/device/activationlock', http_method: ['POST'] },
  { uri: '/profile', http_method: ['POST', 'GET'] },
  { uri: '/profile/devices', http_method: ['DELETE', 'POST', 'PUT'] },
];

/** The answer to GET /account. */
function accountDocument({ name, uuid }: MdmServer): object {
  return {
    server_name: name,
    server_uuid: uuid,
    facilitator_id: 'admin@lab.example',
    admin_id: 'admin@lab.example',
    org_name: 'Muster Lab',
    org_email: 'it@lab.example',
    org_phone: '+1 555 010 0100',
    org_address: '1 Loopback Road, Localhost',
    org_id: '127001',
    org_id_hash: '01lab127001lab127001lab127001lab127001lab127001lab12',
    urls: URLS,
    org_type: 'org',
    org_version: 'v2',
  };
}
