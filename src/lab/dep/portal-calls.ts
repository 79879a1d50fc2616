/** A call of the portal, as its help describes it. */
export interface PortalCall {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  does: string;
  /** An example of each parameter; only that of /activation is required. */
  query?: Readonly<Record<string, string>>;
  /** An example; a string describes the body. */
  body?: object | string;
}

const SERVER = { server: 'Muster' };

const ABOUT =
  'Values are examples. `server` names a server of the portal and is optional (default: Muster); a new name ' +
  'creates a server with some devices. Bodies are JSON, except that of POST /token.';

export const PORTAL_CALLS: readonly PortalCall[] = [
  {
    method: 'POST',
    path: '/token',
    body: 'the PEM of GET /dep/certificate/download',
    does: 'Issues a new server token for POST /dep/stoken/upload; the former one ends.',
    query: { ...SERVER, expires_in: '31536000', cipher: 'des-ede3-cbc' },
  },
  {
    method: 'DELETE',
    path: '/token',
    query: SERVER,
    does: 'Ends all tokens of the server, as when it is deleted.',
  },
  {
    method: 'GET',
    path: '/devices',
    query: { ...SERVER, offset: '0' },
    does: 'Lists up to 1,000 devices of the server as Apple lists them; ?serial=A,B: only these.',
  },
  {
    method: 'POST',
    path: '/devices',
    query: SERVER,
    body: { family: 'iPhone', count: 3 },
    does: 'Adds devices with generated serial numbers, or those of `serial_numbers`.',
  },
  {
    method: 'DELETE',
    path: '/devices',
    query: SERVER,
    does: 'Removes devices from the server.',
    body: { serial_numbers: ['F2LABROOM001'] },
  },
  {
    method: 'GET',
    path: '/activation',
    query: { serial: 'F2LABROOM001' },
    does: 'Returns what Apple sends a device that is being set up: its profile.',
  },
  {
    method: 'DELETE',
    path: '/profiles',
    query: SERVER,
    does: 'Deletes all defined profiles; no device has one any more.',
  },
  {
    method: 'POST',
    path: '/terms',
    body: { signed: false },
    does: "Sets whether Apple's terms are accepted; if not, calls are answered T_C_NOT_SIGNED.",
  },
  {
    method: 'GET',
    path: '/faults',
    does: 'Lists the pending faults.',
  },
  {
    method: 'POST',
    path: '/faults',
    does:
      'Makes calls of the service fail: with `status` (and `body`, `retry_after`), `delay_ms`, `drop`, or ' +
      '`result` for `serial_numbers`; `after` a number of calls, and `times` often.',
    body: { path: '/server/devices', status: 429, retry_after: 5, times: 1 },
  },
  {
    method: 'DELETE',
    path: '/faults',
    does: 'Deletes all faults.',
  },
  {
    method: 'POST',
    path: '/sessions/expire',
    body: { status: 401 },
    does: 'Ends all sessions; the next calls are answered with `status` (default: 401).',
  },
  {
    method: 'POST',
    path: '/cursors/expire',
    does: 'Ends all cursors: the next page is EXPIRED_CURSOR.',
  },
  {
    method: 'GET',
    path: '/requests',
    does: 'Returns the number of requests by path and status.',
  },
  {
    method: 'DELETE',
    path: '/requests',
    does: 'Resets the numbers of requests.',
  },
];

/** The answer to GET / and to unknown calls. */
export const PORTAL_HELP = { about: ABOUT, calls: PORTAL_CALLS };
