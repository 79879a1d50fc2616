import {
  derContext,
  derNull,
  derOid,
  derPrimitiveContext,
  derPrintableString,
  derSequence,
  derSet,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { exportPrivateKey } from '../../../src/crypto/keys/keys.js';
import { type ParsedCertificate, parseCertificates } from '../../../src/crypto/x509/certificate.js';
import { findCertificatePath } from '../../../src/crypto/x509/certificate-path.js';
import { encodeName } from '../../../src/crypto/x509/names.js';
import { asAuthority, ecIdentity, type Identity } from '../identities.js';
import { type OpenSsl, openSsl } from '../openssl.js';

const day = 86_400_000;
const now = Date.now();
const cn = (value: string) => [{ type: 'CN', value }];
const unknown = { oid: '1.3.6.1.4.1.99999.1', critical: true, value: derNull() };
const clients = { extendedKeyUsage: [Oid.clientAuth] };
const servers = { extendedKeyUsage: [Oid.serverAuth] };
const expired = { notBefore: new Date(now - 2 * day), notAfter: new Date(now - 60_000) };
const early = { notBefore: new Date(now + day), notAfter: new Date(now + 2 * day) };

type Overrides = NonNullable<Parameters<typeof ecIdentity>[1]>;
interface Chain {
  root?: Overrides;
  middle?: Overrides;
  leaf?: Overrides;
}

function constrained(kind: 'permitted' | 'excluded', ...bases: Buffer[]): Overrides {
  const subtrees = derContext(
    kind === 'permitted' ? 0 : 1,
    ...bases.map((base) => derSequence(base)),
  );
  const value = derSequence(subtrees);
  return { furtherExtensions: [{ oid: Oid.nameConstraints, critical: true, value }] };
}

const dns = (name: string): Buffer => derPrimitiveContext(2, Buffer.from(name));
const email = (name: string): Buffer => derPrimitiveContext(1, Buffer.from(name));
const directory = (...names: [string, string][]): Buffer =>
  derContext(4, encodeName(names.map(([type, value]) => ({ type, value }))));
const named = (...values: string[]): Overrides => ({
  subjectAltName: values.map((value) => ({ type: value.includes('@') ? 'email' : 'dns', value })),
});
const staff: Overrides = {
  subject: [
    { type: 'O', value: 'Example' },
    { type: 'OU', value: 'Staff' },
    { type: 'CN', value: 'One' },
  ],
};
/** The same name by RFC 5280 7.1, with other bytes. */
const otherwise = derSequence(
  derSet(derSequence(derOid(Oid.organization), derPrintableString(' EXAMPLE '))),
  derSet(derSequence(derOid(Oid.commonName), derPrintableString('example  ca'))),
);

describe('certificate paths with OpenSSL', () => {
  let tool: OpenSsl;
  beforeAll(() => {
    tool = openSsl();
  });
  afterAll(() => tool.remove());

  const write = (name: string, ...certificates: ParsedCertificate[]): void => {
    const blocks = certificates.map(({ der }) => encodePem('CERTIFICATE', der));
    tool.write(name, blocks.join(''));
  };

  const opensslAccepts = (): boolean => {
    const trust = ['-no-CApath', '-no-CAstore', '-CAfile', 'root', '-untrusted', 'middle'];
    try {
      tool.run('verify', ...trust, '-purpose', 'sslclient', 'leaf');
      return true;
    } catch {
      return false;
    }
  };

  async function chainOf(chain: Chain): Promise<[Identity, Identity, Identity]> {
    const root = await ecIdentity('P-256', { ...asAuthority, pathLength: 1, ...chain.root });
    const below = { ...asAuthority, subject: cn('Middle'), issuedBy: root };
    const middle = await ecIdentity('P-256', { ...below, ...chain.middle });
    const leaf = await ecIdentity('P-256', { ...clients, issuedBy: middle, ...chain.leaf });
    return [root, middle, leaf];
  }

  async function verdicts(chain: Chain): Promise<{ ours: boolean; openssl: boolean }> {
    const [root, middle, leaf] = await chainOf(chain);
    for (const [name, { certificate }] of Object.entries({ root, middle, leaf })) {
      write(name, certificate);
    }
    const path = findCertificatePath(leaf.certificate, {
      anchors: [root.certificate],
      intermediates: [middle.certificate],
      at: new Date(),
      purpose: Oid.clientAuth,
    });
    return { ours: path !== undefined, openssl: opensslAccepts() };
  }

  it.each<[string, Chain]>([
    ['an intermediate without the CA bit', { middle: { isCa: false } }],
    ['an intermediate below a root that allows none', { root: { pathLength: 0 } }],
    ['an intermediate that may not sign certificates', { middle: { keyUsage: ['cRLSign'] } }],
    ['a root that may not sign certificates', { root: { keyUsage: ['cRLSign'] } }],
    ['a leaf for servers', { leaf: servers }],
    ['an intermediate for servers', { middle: servers }],
    ['a root for servers', { root: servers }],
    ['an expired leaf', { leaf: expired }],
    ['an expired intermediate', { middle: expired }],
    ['an expired root', { root: expired }],
    ['a leaf of tomorrow', { leaf: early }],
    ['an intermediate of tomorrow', { middle: early }],
    ['an unknown critical extension of the leaf', { leaf: { furtherExtensions: [unknown] } }],
    ['one of the intermediate', { middle: { furtherExtensions: [unknown] } }],
    ['one of the root', { root: { furtherExtensions: [unknown] } }],
    [
      'a DNS name not permitted',
      { middle: constrained('permitted', dns('example.com')), leaf: named('example.org') },
    ],
    [
      'one that only ends alike',
      { middle: constrained('permitted', dns('example.com')), leaf: named('anexample.com') },
    ],
    [
      'one of several not permitted',
      { root: constrained('permitted', dns('example.com')), leaf: named('a.example.com', 'b.org') },
    ],
    [
      'a DNS name excluded',
      { middle: constrained('excluded', dns('Example.com')), leaf: named('a.eXample.com') },
    ],
    [
      'a directory name not permitted',
      { middle: constrained('permitted', directory(['O', 'Other'])), leaf: staff },
    ],
    [
      'a directory name excluded',
      {
        middle: constrained('excluded', directory(['O', 'example'], ['OU', ' STAFF'])),
        leaf: staff,
      },
    ],
    [
      'an e-mail address not permitted',
      { middle: constrained('permitted', email('example.com')), leaf: named('a@example.org') },
    ],
  ])('both refuse %s', async (_what, chain) => {
    expect(await verdicts(chain)).toEqual({ ours: false, openssl: false });
  });

  it.each<[string, Chain]>([
    ['a chain with nothing wrong', {}],
    ['CAs for clients', { root: clients, middle: clients }],
    ['a leaf for any purpose', { leaf: { extendedKeyUsage: [] } }],
    ['CAs without key usage', { root: { keyUsage: [] }, middle: { keyUsage: [] } }],
    [
      'DNS names permitted',
      {
        middle: constrained('permitted', dns('example.com'), dns('b.org')),
        leaf: named('a.Example.com', 'b.org'),
      },
    ],
    [
      'DNS names not excluded',
      { root: constrained('excluded', dns('example.com')), leaf: named('example.org') },
    ],
    [
      'a directory name permitted',
      {
        middle: constrained('permitted', directory(['O', 'EXAMPLE'], ['OU', 'staff'])),
        leaf: staff,
      },
    ],
    [
      'constraints on names that there are none of',
      { middle: constrained('permitted', email('example.com'), dns('b.org')), leaf: staff },
    ],
    [
      'a self-issued intermediate that no constraint is for',
      {
        root: {
          ...constrained('permitted', directory(['CN', 'Signer'])),
          subject: cn('Root'),
          pathLength: 0,
        },
        middle: { subject: cn('Root') },
        leaf: {},
      },
    ],
  ])('both accept %s', async (_what, chain) => {
    expect(await verdicts(chain)).toEqual({ ours: true, openssl: true });
  });

  it('both accept names that match but are encoded in another way', async () => {
    const root = await ecIdentity('P-256', asAuthority);
    const alias = { ...root, certificate: { ...root.certificate, subjectRaw: otherwise } };
    const leaf = await ecIdentity('P-256', { ...clients, issuedBy: alias });
    write('root', root.certificate);
    write('middle', root.certificate);
    write('leaf', leaf.certificate);
    expect(leaf.certificate.issuerRaw.equals(root.certificate.subjectRaw)).toBe(false);
    const options = { anchors: [root.certificate], at: new Date() };
    expect(findCertificatePath(leaf.certificate, options)?.length).toBe(2);
    expect(opensslAccepts()).toBe(true);
  });

  it('both accept a root of version 1, but no intermediate', async () => {
    const root = await ecIdentity();
    tool.write('key', encodePem('PRIVATE KEY', exportPrivateKey(root.privateKey)));
    tool.write('csr', tool.run('req', '-new', '-key', 'key', '-subj', '/CN=Old'));
    tool.write('root', tool.run('x509', '-req', '-in', 'csr', '-signkey', 'key', '-days', '2'));
    const [old] = parseCertificates(tool.read('root'));
    if (old === undefined) throw new Error('no root');
    const leaf = await ecIdentity('P-256', { ...clients, issuedBy: { ...root, certificate: old } });
    write('middle', old);
    write('leaf', leaf.certificate);
    expect(old.version).toBe(1);
    const options = { anchors: [old], at: new Date(), purpose: Oid.clientAuth };
    expect(findCertificatePath(leaf.certificate, options)?.length).toBe(2);
    expect(opensslAccepts()).toBe(true);
    const above = await ecIdentity('P-256', { ...asAuthority, subject: cn('Old') });
    const below = { ...options, anchors: [above.certificate], intermediates: [old] };
    expect(findCertificatePath(leaf.certificate, below)).toBeUndefined();
    write('root', above.certificate);
    expect(opensslAccepts()).toBe(false);
  });
});
