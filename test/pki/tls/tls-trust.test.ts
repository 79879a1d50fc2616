import { rootCertificates } from 'node:tls';
import { decodePemBlock } from '../../../src/crypto/asn1/pem.js';
import { type ParsedCertificate, parseCertificate } from '../../../src/crypto/x509/certificate.js';
import { isPubliclyTrusted, isSelfSigned, tlsTrust } from '../../../src/pki/tls/tls-trust.js';
import { asAuthority, ecIdentity, type Identity } from '../../crypto/identities.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

/** A public root with an EC key, which is quick to imitate. */
function publicRoot(): ParsedCertificate {
  const [pem = ''] = rootCertificates;
  return parseCertificate(decodePemBlock(pem, 'CERTIFICATE'));
}

const certificateOf = ({ certificate }: Identity) => certificate;

describe('a chain that devices trust without a profile', () => {
  it('is not that of a private CA, and not an empty one', async () => {
    const root = await ecIdentity('P-256', asAuthority);
    const leaf = await ecIdentity('P-256', { issuedBy: root });
    expect(isPubliclyTrusted([leaf, root].map(certificateOf))).toBe(false);
    expect(isPubliclyTrusted([])).toBe(false);
  });

  it('is not one with only the name of a public CA, or with a public CA added', async () => {
    const real = publicRoot();
    const impostor = await ecIdentity('P-256', { ...asAuthority, subject: real.subjectRaw });
    const leaf = await ecIdentity('P-256', { issuedBy: impostor });
    expect(leaf.certificate.issuer).toBe(real.subject);
    const chain = [leaf, impostor].map(certificateOf);
    expect(isPubliclyTrusted(chain)).toBe(false);
    expect(isPubliclyTrusted([...chain, real])).toBe(false);
  });

  it('ends in a public CA', () => {
    expect(isPubliclyTrusted([publicRoot()])).toBe(true);
    expect(isSelfSigned(publicRoot())).toBe(true);
  });
});

describe('the certificates that devices must trust by a profile', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it('exclude a chain that they trust without one', async () => {
    expect(await tlsTrust(database.db, [publicRoot().der])).toEqual([]);
    expect(await tlsTrust(database.db, [])).toEqual([]);
  });

  it('are the chain of a private CA, at most eight certificates', async () => {
    const root = await ecIdentity('P-256', asAuthority);
    const leaf = await ecIdentity('P-256', { issuedBy: root });
    const chain = [leaf, root].map(({ certificate }) => certificate.der);
    const trusted = await tlsTrust(database.db, [...chain, ...chain, ...chain, ...chain, ...chain]);
    expect(trusted.map(({ der }) => der)).toEqual(chain);
  });
});
