import { derContext, derPrimitiveContext, derSequence } from '../../../src/crypto/asn1/der.js';
import {
  encodeAuthorityInfoAccess,
  encodeCrlDistributionPoints,
} from '../../../src/crypto/x509/certificate-extensions.js';
import {
  readAuthorityInfoAccess,
  readCrlDistributionPoints,
} from '../../helpers/revocation-addresses.js';
import { codeOf, mutations } from '../identities.js';

const url = (path: string) => `http://mdm.example.com/${path}`;

describe('the addresses of a revocation list', () => {
  it('are written as one point with a name for each address', () => {
    expect(encodeCrlDistributionPoints(['http://a/b']).toString('hex')).toBe(
      `3012${'3010'}${'a00e'}${'a00c'}${'860a'}${Buffer.from('http://a/b').toString('hex')}`,
    );
  });

  it('are read back in order', () => {
    const urls = [url('crl/1.crl'), url('crl/2.crl')];
    expect(readCrlDistributionPoints(encodeCrlDistributionPoints(urls))).toEqual(urls);
  });

  it('are read from several points; points without an address are skipped', () => {
    const byDirectory = derSequence(derContext(0, derContext(0, derContext(4, derSequence()))));
    const byReasons = derSequence(derPrimitiveContext(1, Buffer.from([1, 0x80])));
    const point = encodeCrlDistributionPoints([url('x.crl')]).subarray(2);
    const points = derSequence(byDirectory, point, byReasons, point);
    expect(readCrlDistributionPoints(points)).toEqual([url('x.crl'), url('x.crl')]);
  });

  it('throw nothing but an AppError when they are malformed', () => {
    const good = encodeCrlDistributionPoints([url('crl/1.crl'), url('crl/2.crl')]);
    for (const bad of mutations(good, 500)) {
      expect([undefined, 'invalid_asn1']).toContain(codeOf(() => readCrlDistributionPoints(bad)));
    }
    expect(codeOf(() => readCrlDistributionPoints(good.subarray(0, -1)))).toBe('invalid_asn1');
  });
});

describe('the access to an authority', () => {
  const access = { ocsp: [url('ocsp')], caIssuers: [url('ca/1.cer'), url('ca/2.cer')] };

  it('is written and read back', () => {
    expect(readAuthorityInfoAccess(encodeAuthorityInfoAccess(access))).toEqual(access);
    const empty = { ocsp: [], caIssuers: [] };
    expect(readAuthorityInfoAccess(encodeAuthorityInfoAccess(empty))).toEqual(empty);
  });

  it('throws nothing but an AppError when it is malformed', () => {
    const good = encodeAuthorityInfoAccess(access);
    for (const bad of mutations(good, 500)) {
      expect([undefined, 'invalid_asn1']).toContain(codeOf(() => readAuthorityInfoAccess(bad)));
    }
    expect(codeOf(() => readAuthorityInfoAccess(good.subarray(0, -1)))).toBe('invalid_asn1');
  });
});
