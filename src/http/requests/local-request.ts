import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** By which a proxy that nobody told us of gives itself away. */
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
 * A program on this machine that asks for itself, not for somebody else. The name that it asked for is
 * looked at too: a page in a browser can make its own name lead here.
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
