import { Socket } from 'node:net';
import { connectionFault, goAwayFault } from '../../../src/push/apns/apns-faults.js';

function faultOf(code: string | undefined, wasSecure = false) {
  const error = code === undefined ? undefined : Object.assign(new Error('failed'), { code });
  return connectionFault({ error, socket: new Socket(), wasSecure });
}

describe('connectionFault', () => {
  it.each([
    ['ECONNREFUSED', true],
    ['ENOTFOUND', false],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', false],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', true],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', false],
  ])('does not blame the certificate for %s', (code, wasSecure) => {
    const { kind, words } = faultOf(code, wasSecure);
    expect([kind, words]).toEqual(['unreachable', `cannot be reached (${code})`]);
  });

  it.each([
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', false],
    // As OpenSSL names it from 3.2 on.
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', false],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', true],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', true],
  ])('blames the certificate for %s', (code, wasSecure) => {
    const { kind, words } = faultOf(code, wasSecure);
    expect(kind).toBe('certificate_refused');
    expect(words).toBe(`refuses the push certificate in the TLS handshake (${code})`);
  });

  it('says so when there was no error', () => {
    expect(faultOf(undefined)).toEqual({ kind: 'unreachable', words: 'closed the connection' });
  });

  it('tells the first failure of several addresses', () => {
    const refused = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    const error = new AggregateError([refused, new Error('other')]);
    const { words } = connectionFault({ error, socket: new Socket(), wasSecure: false });
    expect(words).toBe('cannot be reached (ECONNREFUSED)');
  });
});

describe('goAwayFault', () => {
  it.each([
    [0, 'Shutdown', 'unreachable', 'ended the connection (Shutdown)'],
    [11, null, 'unreachable', 'ended the connection (error code 11)'],
    [0, 'BadCertificate', 'certificate_refused', 'refuses the push certificate (BadCertificate)'],
  ])('reads code %d with reason %s', (code, reason, kind, words) => {
    expect(goAwayFault({ code, lastStreamId: 0, reason })).toEqual({ kind, words });
  });
});
