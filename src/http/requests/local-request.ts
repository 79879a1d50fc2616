import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Headers that show a proxy, configured or not. */
const FORWARDING = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Whether a program on this machine sent the request for itself, not as a proxy. The Host header must
 * be local too: a page in a browser can make its own name resolve to this machine (DNS rebinding).
 */
export function isLocalRequest({
  headers,
  socket,
}: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } }): boolean {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(address);
  if (family === 0 || !LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4')) return false;
  if (!LOOPBACK_HOST.test(headers.host ?? '')) return false;
  return FORWARDING.every((name) => headers[name] === undefined);
}
