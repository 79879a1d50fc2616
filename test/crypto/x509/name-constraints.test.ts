import {
  derContext,
  derInteger,
  derNull,
  derPrimitiveContext,
  derSequence,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { permitsNames } from '../../../src/crypto/x509/name-constraints.js';
import { isSameName } from '../../../src/crypto/x509/name-matching.js';
import { encodeName } from '../../../src/crypto/x509/names.js';
import { asAuthority, ecIdentity, type Identity, mutations } from '../identities.js';

const dns = (name: string): Buffer => derPrimitiveContext(2, Buffer.from(name));
const subtree = (base: Buffer): Buffer => derSequence(base);

describe('permitsNames', () => {
  let leaf: Identity;

  beforeAll(async () => {
    const subjectAltName = [
      { type: 'dns', value: 'a.example.com' },
      { type: 'ip', value: '192.0.2.1' },
    ] as const;
    const subject = [
      { type: 'CN', value: 'One' },
      { type: 'emailAddress', value: 'one@example.com' },
    ];
    leaf = await ecIdentity('P-256', { subjectAltName, subject });
  });

  const permits = async (value: Buffer): Promise<boolean> => {
    const extension = { oid: Oid.nameConstraints, critical: true, value };
    const issuer = await ecIdentity('P-256', { ...asAuthority, furtherExtensions: [extension] });
    expect(issuer.certificate.unknownCriticalExtensions).toEqual([]);
    return permitsNames(issuer.certificate, leaf.certificate);
  };
  const permitted = (...bases: Buffer[]): Promise<boolean> =>
    permits(derSequence(derContext(0, ...bases.map(subtree))));
  const excluded = (...bases: Buffer[]): Promise<boolean> =>
    permits(derSequence(derContext(1, ...bases.map(subtree))));

  it('is false when the constraints cannot be read, or are too many', async () => {
    const [base] = [dns('example.com')];
    expect(await permits(derNull())).toBe(false);
    expect(await permits(derSequence(derContext(2, subtree(base))))).toBe(false);
    const minimum = derSequence(base, derContext(0, derInteger(1)));
    expect(await permits(derSequence(derContext(0, minimum)))).toBe(false);
    expect(await permitted(...Array<Buffer>(65).fill(base))).toBe(false);
    expect(await permitted(...Array<Buffer>(64).fill(base))).toBe(true);
  });

  it('returns a boolean for 500 mutations of the constraints', () => {
    const value = derSequence(derContext(0, subtree(dns('example.com')), subtree(dns('b.org'))));
    for (const mutation of mutations(value, 500)) {
      const extension = { oid: Oid.nameConstraints, critical: true, value: mutation };
      const extensions = new Map([[Oid.nameConstraints, extension]]);
      const issuer = { ...leaf.certificate, extensions };
      expect([true, false]).toContain(permitsNames(issuer, leaf.certificate));
    }
  });

  it('is false when names of an unsupported form are constrained', async () => {
    const address = derPrimitiveContext(7, Buffer.from('c0000200ffffff00', 'hex'));
    const email = derPrimitiveContext(1, Buffer.from('example.com'));
    expect(await permitted(address)).toBe(false);
    expect(await excluded(address)).toBe(false);
    expect(await permitted(email)).toBe(false);
    expect(await excluded(email)).toBe(false);
    expect(await permitted(derPrimitiveContext(6, Buffer.from('example.com')))).toBe(true);
  });

  it('compares DNS names by whole labels; an empty constraint matches all', async () => {
    expect(await permitted(dns('a.example.com'))).toBe(true);
    expect(await permitted(dns('.example.com'))).toBe(true);
    expect(await permitted(dns(''))).toBe(true);
    expect(await permitted(dns('xample.com'))).toBe(false);
    expect(await permitted(dns('b.a.example.com'))).toBe(false);
    expect(await excluded(dns('com'))).toBe(false);
    expect(await excluded(dns('org'))).toBe(true);
  });
});

describe('isSameName', () => {
  const name = (...values: string[]): Buffer =>
    encodeName(values.map((value) => ({ type: 'CN', value })));

  it('is false for names that differ', () => {
    expect(isSameName(name('A'), name('B'))).toBe(false);
    expect(isSameName(name('A'), name('A', 'B'))).toBe(false);
    expect(isSameName(name('A', 'B'), name('B', 'A'))).toBe(false);
    expect(isSameName(name('A B'), name('AB'))).toBe(false);
    const organization = encodeName([{ type: 'O', value: 'A' }]);
    expect(isSameName(name('A'), organization)).toBe(false);
    expect(isSameName(name('A'), derNull())).toBe(false);
  });

  it('compares names that are very long byte for byte', () => {
    const long = 'x'.repeat(2100);
    expect(isSameName(name(long), name(long))).toBe(true);
    expect(isSameName(name(long), name(long.toUpperCase()))).toBe(false);
  });

  it('ignores case and spaces', () => {
    expect(isSameName(name('An  Example '), name('an example'))).toBe(true);
  });
});
