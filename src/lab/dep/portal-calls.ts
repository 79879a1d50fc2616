/** A call of the portal, for people who ask it by hand. */
export interface PortalCall {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  does: string;
  /** An example of each parameter; none must be there but those of /activation. */
  query?: Readonly<Record<string, string>>;
  /** An example; text: what the body is. */
  body?: object | string;
}

const SERVER = { server: 'Muster' };

const ABOUT =
  'Values are examples. `server` may be left out: it is which server of the portal is meant (Muster), and a new ' +
  'name makes a new one, with some devices. Bodies are JSON, but that of POST /token.';

export const PORTAL_CALLS: readonly PortalCall[] = [
  {
    method: 'POST',
    path: '/token',
    body: 'the PEM of GET /dep/certificate/download',
    does: 'Gives a new server token, for POST /dep/stoken/upload; the former one ends.',
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
    does: 'Lists up to 1,000 devices of the server, as the program lists them; ?serial=A,B: these.',
  },
  {
    method: 'POST',
    path: '/devices',
    query: SERVER,
    body: { family: 'iPhone', count: 3 },
    does: 'Adds devices, with new serial numbers or those of `serial_numbers`.',
  },
  {
    method: 'DELETE',
    path: '/devices',
    query: SERVER,
    does: 'Takes devices from the server.',
    body: { serial_numbers: ['F2LABROOM001'] },
  },
  {
    method: 'GET',
    path: '/activation',
    query: { serial: 'F2LABROOM001' },
    does: 'Tells what Apple tells the device as it is set up: its profile.',
  },
  {
    method: 'DELETE',
    path: '/profiles',
    query: SERVER,
    does: 'Has Apple forget all profiles that were defined; no device has one any more.',
  },
  {
    method: 'POST',
    path: '/terms',
    body: { signed: false },
    does: "Says whether Apple's terms are accepted; where not, it answers T_C_NOT_SIGNED.",
  },
  {
    method: 'GET',
    path: '/faults',
    does: 'Lists the faults that are still to come.',
  },
  {
    method: 'POST',
    path: '/faults',
    does:
      'Has calls of the service fail: with `status` (and `body`, `retry_after`), `delay_ms`, `drop`, or ' +
      '`result` for `serial_numbers`; `after` so many, `times`.',
    body: { path: '/server/devices', status: 429, retry_after: 5, times: 1 },
  },
  {
    method: 'DELETE',
    path: '/faults',
    does: 'Forgets them.',
  },
  {
    method: 'POST',
    path: '/sessions/expire',
    body: { status: 401 },
    does: 'Ends all sessions; the next calls are answered so (no body: as Apple does).',
  },
  {
    method: 'POST',
    path: '/cursors/expire',
    does: 'Ends all cursors: the next page is EXPIRED_CURSOR.',
  },
  {
    method: 'GET',
    path: '/requests',
    does: 'Counts what the service was asked.',
  },
  {
    method: 'DELETE',
    path: '/requests',
    does: 'Counts anew.',
  },
];

/** What is answered to whoever does not know them. */
export const PORTAL_HELP = { about: ABOUT, calls: PORTAL_CALLS };
