import type { IncomingMessage } from 'node:http';
import { createProxyTrust } from '../../../src/http/requests/trust-proxy.js';

function requestFrom(peer: string | undefined, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
}

describe('createProxyTrust', () => {
  it.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '', '2001:db8::/129'])(
    'refuses the entry %j and names it',
    (entry) => {
      expect(() => createProxyTrust([entry])).toThrow(
        `${JSON.stringify(entry)} is not an IP address or CIDR block`,
      );
    },
  );

  it.each([
    ['a peer that is not listed', ['10.0.0.1'], '192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['any peer when nothing is listed', [], '127.0.0.1', '198.51.100.1', '127.0.0.1'],
    ['a listed peer without the header', ['10.0.0.1'], '10.0.0.1', undefined, '10.0.0.1'],
    [
      'a listed peer with garbage in the header',
      ['10.0.0.1'],
      '10.0.0.1',
      'x, unknown',
      '10.0.0.1',
    ],
    ['a listed peer', ['10.0.0.1'], '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a forged first hop', ['10.0.0.1'], '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['a chain of proxies', ['10.0.0.0/8'], '10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['proxies only', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    [
      'an IPv4 peer of a dual-stack socket',
      ['10.0.0.1'],
      '::ffff:10.0.0.1',
      '198.51.100.1',
      '198.51.100.1',
    ],
    ['an IPv6 block', ['2001:db8::/32'], '2001:db8::7', '2001:db9::1', '2001:db9::1'],
    ['a hop with a port', ['10.0.0.1'], '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 hop with a port', ['10.0.0.1'], '10.0.0.1', '[2001:db9::1]:4711', '2001:db9::1'],
  ])('finds the source address of %s', (_case, listed, peer, forwarded, expected) => {
    expect(createProxyTrust(listed).sourceAddress(requestFrom(peer, forwarded))).toBe(expected);
  });

  it('has no source address for a connection that is gone', () => {
    expect(createProxyTrust([]).sourceAddress(requestFrom(undefined))).toBeNull();
  });

  it('trusts exactly the listed peers', () => {
    const trust = createProxyTrust(['10.0.0.0/8', '::1']);
    expect(trust.isTrusted('10.255.0.1')).toBe(true);
    expect(trust.isTrusted('::ffff:10.1.2.3')).toBe(true);
    expect(trust.isTrusted('::1')).toBe(true);
    expect(trust.isTrusted('11.0.0.1')).toBe(false);
    expect(trust.isTrusted(undefined)).toBe(false);
  });
});
