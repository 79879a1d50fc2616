import { isLocalRequest } from '../../../src/http/requests/local-request.js';

describe('a request of this machine', () => {
  const of = (remoteAddress: string | undefined, headers = {}) =>
    isLocalRequest({ headers: { host: 'localhost:8080', ...headers }, socket: { remoteAddress } });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1', '128.0.0.1', '10.0.0.1', '0.0.0.0'],
    ['::', '::2', 'fe80::1', '2001:db8::1', '::1.2.3.4'],
    ['', 'localhost', '127.0.0.1.example.com'],
  ])('comes from no other address: %s', (...addresses) => {
    expect(addresses.filter((address) => of(address))).toEqual([]);
    expect(of(undefined)).toBe(false);
  });

  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])('comes from %s', (address) => {
    expect(of(address)).toBe(true);
    expect(of(address, { via: '1.1 proxy' })).toBe(false);
    expect(of(address, { 'x-forwarded-for': '' })).toBe(false);
  });

  it.each(['localhost', 'LOCALHOST:80', '127.0.0.1:8080', '[::1]:8080', '127.9.9.9'])(
    'asks for %s',
    (host) => {
      expect(of('127.0.0.1', { host })).toBe(true);
    },
  );

  it.each([undefined, '', 'mdm.example.com', 'localhost.example.com', '127.0.0.1.nip.example'])(
    'does not ask for %s',
    (host) => {
      expect(of('127.0.0.1', { host })).toBe(false);
    },
  );
});
