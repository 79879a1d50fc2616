import { verify } from 'node:crypto';
import {
  derContext,
  derInteger,
  derNull,
  derOid,
  derSequence,
} from '../../../src/crypto/asn1/der.js';
import { hasIssuer, parseOcspRequest } from '../../../src/crypto/x509/ocsp-request.js';
import { buildOcspError, buildOcspResponse } from '../../../src/crypto/x509/ocsp-response.js';
import { asAuthority, codeOf, ecIdentity, type Identity, mutations } from '../identities.js';
import { certificateId, ocspRequest, readOcspResponse } from './ocsp-messages.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const LATER = new Date('2051-11-21T11:00:00Z');

let authority: Identity;
let other: Identity;

beforeAll(async () => {
  [authority, other] = await Promise.all([
    ecIdentity('P-256', asAuthority),
    ecIdentity('P-256', asAuthority),
  ]);
});

describe('an OCSP request', () => {
  it.each(['sha1', 'sha256'] as const)('names its issuer by %s', (digest) => {
    const { certificates } = parseOcspRequest(
      ocspRequest(authority.certificate, { serials: ['01', '80ff'], hash: digest }),
    );
    expect(certificates.map(({ serialHex }) => serialHex)).toEqual(['01', '80ff']);
    for (const id of certificates) {
      expect(id.hashAlgorithm).toBe(digest);
      expect(hasIssuer(id, authority.certificate)).toBe(true);
      // The same name, another key.
      expect(hasIssuer(id, other.certificate)).toBe(false);
    }
  });

  it('that names its issuer by another digest has no issuer', () => {
    const request = ocspRequest(authority.certificate, { hash: 'sha512' });
    const [id] = parseOcspRequest(request).certificates;
    expect(id && hasIssuer(id, authority.certificate)).toBe(false);
  });

  it('may have a requestor name, a signature and a version', () => {
    const id = derSequence(certificateId(authority.certificate, '01'));
    const requestor = derContext(1, derContext(4, authority.certificate.subjectRaw));
    const tbs = derSequence(derContext(0, derInteger(0)), requestor, derSequence(id));
    const signed = derSequence(tbs, derContext(0, derSequence(derNull())));
    expect(parseOcspRequest(signed).certificates).toHaveLength(1);
    const second = derSequence(derSequence(derContext(0, derInteger(1)), derSequence(id)));
    expect(codeOf(() => parseOcspRequest(second))).toBe('invalid_asn1');
  });

  it('is refused for no certificate and for more than 20', () => {
    const ask = (count: number) => () =>
      parseOcspRequest(
        ocspRequest(authority.certificate, { serials: Array<string>(count).fill('01') }),
      );
    expect(codeOf(ask(0))).toBe('invalid_asn1');
    expect(codeOf(ask(20))).toBeUndefined();
    expect(codeOf(ask(21))).toBe('invalid_asn1');
  });

  it('accepts a nonce of 1 to 32 octets', () => {
    const ask = (octets: number) => () =>
      parseOcspRequest(ocspRequest(authority.certificate, { nonce: Buffer.alloc(octets, 5) }));
    expect(ask(32)().nonce).toEqual(
      Buffer.concat([Buffer.from('0420', 'hex'), Buffer.alloc(32, 5)]),
    );
    expect(codeOf(ask(1))).toBeUndefined();
    expect(codeOf(ask(0))).toBe('invalid_asn1');
    expect(codeOf(ask(33))).toBe('invalid_asn1');
  });

  it('is refused with an unknown critical extension', () => {
    const extension = (critical: boolean) => [{ oid: '1.2.3.4', critical, value: derNull() }];
    const ask = (critical: boolean) => () =>
      parseOcspRequest(ocspRequest(authority.certificate, { extensions: extension(critical) }));
    expect(codeOf(ask(false))).toBeUndefined();
    expect(codeOf(ask(true))).toBe('invalid_asn1');
  });

  it('is refused when it is truncated, has trailing bytes, or is over 8 KiB', () => {
    const der = ocspRequest(authority.certificate, { nonce: Buffer.alloc(16) });
    for (let length = 0; length < der.length; length += 1) {
      expect(codeOf(() => parseOcspRequest(der.subarray(0, length)))).toBe('invalid_asn1');
    }
    expect(codeOf(() => parseOcspRequest(Buffer.concat([der, Buffer.alloc(1)])))).toBe(
      'invalid_asn1',
    );
    const long = [{ oid: '1.2.3.4', critical: false, value: Buffer.alloc(9_000) }];
    const large = ocspRequest(authority.certificate, { extensions: long });
    expect(codeOf(() => parseOcspRequest(large))).toBe('invalid_asn1');
  });

  it('throws nothing but an AppError for 500 mutations', () => {
    const der = ocspRequest(authority.certificate, {
      serials: ['01', '02'],
      nonce: Buffer.alloc(8),
    });
    for (const bad of mutations(der, 500)) {
      expect([undefined, 'invalid_asn1']).toContain(codeOf(() => parseOcspRequest(bad)));
    }
  });
});

describe('an OCSP response', () => {
  it('contains each status and the nonce, and is signed by the CA', () => {
    const ids = ['01', '02', '03', '04'].map((serial) =>
      certificateId(authority.certificate, serial),
    );
    const [first, second, third, fourth] = ids as [Buffer, Buffer, Buffer, Buffer];
    const nonce = Buffer.from('0403010203', 'hex');
    const der = buildOcspResponse({
      issuer: authority.certificate,
      issuerKey: authority.privateKey,
      responses: [
        { certificateId: first, status: { state: 'good' } },
        { certificateId: second, status: { state: 'unknown' } },
        {
          certificateId: third,
          status: { state: 'revoked', revokedAt: NOW, reason: 'keyCompromise' },
        },
        {
          certificateId: fourth,
          status: { state: 'revoked', revokedAt: LATER, reason: 'unspecified' },
        },
      ],
      nonce,
      thisUpdate: NOW,
      nextUpdate: LATER,
    });
    const response = readOcspResponse(der);
    expect(response).toMatchObject({
      code: 0,
      statuses: [
        'good',
        'unknown',
        { revokedAt: NOW, reason: 1 },
        { revokedAt: LATER, reason: undefined },
      ],
      thisUpdate: NOW,
      nextUpdate: LATER,
      nonce,
    });
    for (const id of ids) expect(response.data.includes(id)).toBe(true);
    const { publicKey } = authority.certificate;
    expect(verify('sha256', response.data, publicKey, response.signature)).toBe(true);
  });

  it('that is an error contains only its status', () => {
    expect(buildOcspError('malformedRequest').toString('hex')).toBe('30030a0101');
    expect(buildOcspError('internalError').toString('hex')).toBe('30030a0102');
    expect(buildOcspError('unauthorized').toString('hex')).toBe('30030a0106');
  });

  it('is not read as a request', () => {
    expect(codeOf(() => parseOcspRequest(derOid('1.2.3')))).toBe('invalid_asn1');
  });
});
