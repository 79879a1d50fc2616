import { constants } from 'node:http2';
import { Socket } from 'node:net';
import {
  ApnsResets,
  connectionFailure,
  goAwayFailure,
} from '../../../src/push/apns/apns-failures.js';

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

function failureOf(code: string | undefined, wasSecure = false) {
  const error = code === undefined ? undefined : Object.assign(new Error('failed'), { code });
  return connectionFailure({ error, socket: new Socket(), wasSecure });
}

describe('connectionFailure', () => {
  it.each([
    ['ECONNREFUSED', true],
    ['ENOTFOUND', false],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', false],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', true],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', false],
  ])('does not blame the certificate for %s', (code, wasSecure) => {
    const { kind, message } = failureOf(code, wasSecure);
    expect([kind, message]).toEqual(['unreachable', `cannot be reached (${code})`]);
  });

  it.each([
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', false],
    // As OpenSSL names it from 3.2 on.
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', false],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', true],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', true],
  ])('blames the certificate for %s', (code, wasSecure) => {
    const { kind, message } = failureOf(code, wasSecure);
    expect(kind).toBe('certificate_refused');
    expect(message).toBe(`refuses the push certificate in the TLS handshake (${code})`);
  });

  it('names the close when there was no error', () => {
    expect(failureOf(undefined)).toEqual({ kind: 'unreachable', message: 'closed the connection' });
  });

  it('names the first failure of several addresses', () => {
    const refused = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
    const error = new AggregateError([refused, new Error('other')]);
    const { message } = connectionFailure({ error, socket: new Socket(), wasSecure: false });
    expect(message).toBe('cannot be reached (ECONNREFUSED)');
  });
});

describe('goAwayFailure', () => {
  it.each([
    [0, 'Shutdown', 'unreachable', 'ended the connection (Shutdown)'],
    [11, null, 'unreachable', 'ended the connection (error code 11)'],
    [0, 'BadCertificate', 'certificate_refused', 'refuses the push certificate (BadCertificate)'],
  ])('reads code %d with reason %s', (code, reason, kind, message) => {
    expect(goAwayFailure({ code, lastStreamId: 0, reason })).toEqual({ kind, message });
  });
});

/** After how many resets the connection is unusable. */
function mostOf(codes: number[]): number {
  const resets = new ApnsResets();
  for (let count = 1; count <= 100; count += 1) {
    if (resets.add(codes[(count - 1) % codes.length] ?? 0)) return count;
  }
  return Number.POSITIVE_INFINITY;
}

describe('resets of requests', () => {
  it.each([
    ['ENHANCE_YOUR_CALM', [NGHTTP2_ENHANCE_YOUR_CALM], 1],
    ['INTERNAL_ERROR', [NGHTTP2_INTERNAL_ERROR], 2],
    ['two codes', [NGHTTP2_PROTOCOL_ERROR, NGHTTP2_INTERNAL_ERROR], 2],
    ['a code that no RFC knows', [4711], 2],
    ['CANCEL', [NGHTTP2_CANCEL], 10],
    ['REFUSED_STREAM', [NGHTTP2_REFUSED_STREAM], 10],
    ['CANCEL and INTERNAL_ERROR', [NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR], 4],
  ])('with %s make a connection unusable after the expected number', (_, codes, most) => {
    expect(mostOf(codes)).toBe(most);
  });

  it('count from the last answer', () => {
    const resets = new ApnsResets();
    for (let round = 0; round < 50; round += 1) {
      expect(resets.add(NGHTTP2_INTERNAL_ERROR)).toBe(false);
      resets.clear();
    }
    resets.add(NGHTTP2_INTERNAL_ERROR);
    expect(resets.add(NGHTTP2_INTERNAL_ERROR)).toBe(true);
  });
});
