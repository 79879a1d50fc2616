import {
  derBitString,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derTime,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { createSignature, signatureAlgorithm } from '../../../src/crypto/keys/algorithms.js';
import { parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { isIssuedBy } from '../../../src/crypto/x509/certificate-path.js';
import { isCrlIssuedBy, parseCrl } from '../../helpers/parse-crl.js';
import { asAuthority, codeOf, type Identity, identityOf, rsaIdentity } from '../identities.js';
import { withAlgorithms } from '../x509/two-algorithms.js';

const WITH_NULL = derSequence(derOid(Oid.sha256WithRsa), derNull());
const WITHOUT = derSequence(derOid(Oid.sha256WithRsa));
const WITH_OTHERS = [
  derSequence(derOid(Oid.sha1WithRsa), derNull()),
  derSequence(derOid(Oid.sha1WithRsa)),
  derSequence(derOid(Oid.rsassaPss)),
  derSequence(derOid(Oid.sha256WithRsa), derOctetString(Buffer.alloc(0))),
  derSequence(derOid(Oid.sha256WithRsa), derSequence()),
  derSequence(derOid(Oid.sha256WithRsa), derInteger(0)),
];

let authority: Identity;
let device: Identity;

beforeAll(async () => {
  authority = await rsaIdentity(asAuthority);
  device = identityOf(await rsaIdentity(), { issuedBy: authority });
});

const certificate = (inner: Buffer, outer: Buffer) =>
  withAlgorithms(device.certificate, { inner, outer, issuerKey: authority.privateKey });

function list(inner: Buffer, outer: Buffer): Buffer {
  const tbs = derSequence(
    derInteger(1),
    inner,
    authority.certificate.subjectRaw,
    derTime(new Date()),
  );
  const signature = createSignature(authority.privateKey, 'sha256', tbs);
  return derSequence(tbs, outer, derBitString(signature));
}

describe('the two signature algorithms of a certificate', () => {
  it('are refused when they differ by more than an absent or NULL parameter', () => {
    for (const other of WITH_OTHERS) {
      for (const one of [WITH_NULL, WITHOUT]) {
        expect(codeOf(() => parseCertificate(certificate(one, other)))).toBe('invalid_certificate');
        expect(codeOf(() => parseCertificate(certificate(other, one)))).toBe('invalid_certificate');
      }
    }
  });

  it('are refused for RSASSA-PSS, where absent parameters stand for SHA-1', () => {
    const absent = derSequence(derOid(Oid.rsassaPss));
    const empty = derSequence(derOid(Oid.rsassaPss), derNull());
    expect(codeOf(() => parseCertificate(certificate(absent, empty)))).toBe('invalid_certificate');
    expect(codeOf(() => parseCertificate(certificate(empty, absent)))).toBe('invalid_certificate');
  });

  it('are read when one has NULL where the other has nothing (RFC 4055 2.1)', () => {
    for (const der of [certificate(WITH_NULL, WITHOUT), certificate(WITHOUT, WITH_NULL)]) {
      const parsed = parseCertificate(der);
      expect(parsed).toMatchObject({ subject: 'CN=Signer', hasOneAlgorithmForm: false });
      expect(isIssuedBy(parsed, authority.certificate)).toBe(true);
    }
    const absent = derSequence(derOid(Oid.ecdsaWithSha256));
    const empty = derSequence(derOid(Oid.ecdsaWithSha256), derNull());
    expect(parseCertificate(certificate(absent, empty)).subject).toBe('CN=Signer');
    for (const same of [WITH_NULL, WITHOUT]) {
      expect(parseCertificate(certificate(same, same)).hasOneAlgorithmForm).toBe(true);
    }
  });
});

describe('the two signature algorithms of a revocation list', () => {
  it('are refused when they differ by more than an absent or NULL parameter', () => {
    for (const other of WITH_OTHERS) {
      expect(codeOf(() => parseCrl(list(WITH_NULL, other)))).toBe('invalid_asn1');
      expect(codeOf(() => parseCrl(list(other, WITHOUT)))).toBe('invalid_asn1');
    }
  });

  it('are read when one has NULL where the other has nothing', () => {
    for (const der of [list(WITH_NULL, WITHOUT), list(WITHOUT, WITH_NULL)]) {
      expect(isCrlIssuedBy(parseCrl(der), authority.certificate)).toBe(true);
    }
    const own = signatureAlgorithm(authority.privateKey, 'sha256');
    expect(isCrlIssuedBy(parseCrl(list(own, own)), authority.certificate)).toBe(true);
  });
});
