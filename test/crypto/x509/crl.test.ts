import {
  derBitString,
  derContext,
  derInteger,
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derTime,
  derUnsigned,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { createSignature, signatureAlgorithm } from '../../../src/crypto/keys/algorithms.js';
import {
  type Extension,
  encodeAuthorityKeyId,
  encodeExtension,
} from '../../../src/crypto/x509/certificate-extensions.js';
import { type BuildCrlOptions, buildCrl, encodeCrlEntry } from '../../../src/crypto/x509/crl.js';
import { isCrlIssuedBy, parseCrl } from '../../helpers/parse-crl.js';
import {
  asAuthority,
  codeOf,
  ecIdentity,
  type Identity,
  mutations,
  rsaIdentity,
} from '../identities.js';

const NOW = new Date('2026-11-21T10:00:00Z');
const IN_A_WEEK = new Date('2026-11-28T10:00:00Z');
const SERIALS = ['01', '80', '00c0ffee', 'ff'.repeat(16)];

let authority: Identity;
let other: Identity;

beforeAll(async () => {
  [authority, other] = await Promise.all([
    ecIdentity('P-256', asAuthority),
    ecIdentity('P-256', { ...asAuthority, subject: [{ type: 'CN', value: 'Other CA' }] }),
  ]);
});

function build(changes: Partial<BuildCrlOptions> = {}, signer = authority): Promise<Buffer> {
  const { certificate: issuer, privateKey: issuerKey } = signer;
  const times = { thisUpdate: NOW, nextUpdate: IN_A_WEEK };
  return buildCrl({ issuer, issuerKey, number: 1, ...times, entries: [], ...changes });
}

const entries = () => [
  encodeCrlEntry({ serial: Buffer.from('01', 'hex'), revokedAt: NOW, reason: 'keyCompromise' }),
  encodeCrlEntry({ serial: Buffer.from('80', 'hex'), revokedAt: NOW }),
  Buffer.concat([
    encodeCrlEntry({
      serial: Buffer.from('00c0ffee', 'hex'),
      revokedAt: NOW,
      reason: 'unspecified',
    }),
    encodeCrlEntry({
      serial: Buffer.from('ff'.repeat(16), 'hex'),
      revokedAt: NOW,
      reason: 'superseded',
    }),
  ]),
];

interface HandMade {
  version?: Buffer[];
  list?: Buffer[];
  extensions?: Extension[];
  innerAlgorithm?: Buffer;
}

/** A list with members that `buildCrl` never writes. */
function handMade({ version, list = [], extensions, innerAlgorithm }: HandMade): Buffer {
  const algorithm = signatureAlgorithm(authority.privateKey, 'sha256');
  const further = extensions?.map(encodeExtension) ?? [];
  const tbs = derSequence(
    ...(version ?? [derInteger(1)]),
    innerAlgorithm ?? algorithm,
    authority.certificate.subjectRaw,
    derTime(NOW),
    ...(list.length > 0 ? [derSequence(...list)] : []),
    ...(further.length > 0 ? [derContext(0, derSequence(...further))] : []),
  );
  const signature = createSignature(authority.privateKey, 'sha256', tbs);
  return derSequence(tbs, algorithm, derBitString(signature));
}

const critical = (oid: string): Extension => ({ oid, critical: true, value: derNull() });

describe('a certificate revocation list', () => {
  it('is read back with serial numbers, times, reasons, number and key identifier', async () => {
    const crl = parseCrl(await build({ number: 2 ** 51 + 7, entries: entries() }));
    expect(crl).toMatchObject({
      issuer: 'CN=Example CA,O=Example',
      issuerRaw: authority.certificate.subjectRaw,
      authorityKeyId: authority.certificate.subjectKeyId,
      thisUpdate: NOW,
      nextUpdate: IN_A_WEEK,
      number: Buffer.from('08000000000007', 'hex'),
      unknownCriticalExtensions: [],
      signatureAlgorithm: Oid.ecdsaWithSha256,
    });
    expect([...crl.revoked]).toEqual([
      ['01', { revokedAt: NOW, reason: 'keyCompromise' }],
      ['80', { revokedAt: NOW, reason: 'unspecified' }],
      ['c0ffee', { revokedAt: NOW, reason: 'unspecified' }],
      ['ff'.repeat(16), { revokedAt: NOW, reason: 'superseded' }],
    ]);
    expect(SERIALS).toHaveLength(crl.revoked.size);
    expect(isCrlIssuedBy(crl, authority.certificate)).toBe(true);
  });

  it('has no list at all when nothing is revoked', async () => {
    const crl = parseCrl(await build());
    expect(crl.revoked.size).toBe(0);
    expect(isCrlIssuedBy(crl, authority.certificate)).toBe(true);
    expect((await build()).includes(Buffer.from('3000', 'hex'))).toBe(false);
  });

  it('is signed by an RSA key as well', async () => {
    const rsa = await rsaIdentity(asAuthority);
    const crl = parseCrl(await build({}, rsa));
    expect(crl.signatureAlgorithm).toBe(Oid.sha256WithRsa);
    expect(isCrlIssuedBy(crl, rsa.certificate)).toBe(true);
    expect(isCrlIssuedBy(crl, authority.certificate)).toBe(false);
  });

  it('does not verify for another CA, one of the same name, or one that may not sign lists', async () => {
    const crl = parseCrl(await build({ entries: entries() }));
    const [namesake, unfit] = await Promise.all([
      ecIdentity('P-256', asAuthority),
      ecIdentity('P-256', { ...asAuthority, keyUsage: ['keyCertSign'] }),
    ]);
    expect(isCrlIssuedBy(crl, other.certificate)).toBe(false);
    expect(isCrlIssuedBy(crl, namesake.certificate)).toBe(false);
    expect(isCrlIssuedBy(parseCrl(await build({}, unfit)), unfit.certificate)).toBe(false);
  });

  it('does not verify with one octet of the content or the signature changed', async () => {
    const der = await build({ entries: entries() });
    const { tbs, signature } = parseCrl(der);
    for (const at of [der.indexOf(tbs) + tbs.length - 1, der.indexOf(signature) + 20]) {
      const changed = Buffer.from(der);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(isCrlIssuedBy(parseCrl(changed), authority.certificate)).toBe(false);
    }
  });

  it('does not verify with an unknown critical extension', () => {
    const indirect = handMade({ extensions: [critical('2.5.29.28')] });
    expect(parseCrl(indirect).unknownCriticalExtensions).toEqual(['2.5.29.28']);
    expect(isCrlIssuedBy(parseCrl(indirect), authority.certificate)).toBe(false);
    const ofAnother = derSequence(
      derUnsigned(Buffer.from([1])),
      derTime(NOW),
      derSequence(encodeExtension(critical('2.5.29.29'))),
    );
    const entry = parseCrl(handMade({ list: [ofAnother] }));
    expect(entry.unknownCriticalExtensions).toEqual(['2.5.29.29']);
    expect(isCrlIssuedBy(entry, authority.certificate)).toBe(false);
  });

  it('may be of version 1, without extensions and without an end', () => {
    const plain = derSequence(derUnsigned(Buffer.from([7])), derTime(NOW));
    const crl = parseCrl(handMade({ version: [], list: [plain] }));
    expect([...crl.revoked.keys()]).toEqual(['07']);
    expect(crl.nextUpdate).toBeUndefined();
    expect(isCrlIssuedBy(crl, authority.certificate)).toBe(true);
  });

  it.each([
    ['of version 3', { version: [derInteger(2)] }],
    ['of version 1 with extensions', { version: [], extensions: [critical(Oid.cRLNumber)] }],
    ['with two algorithms', { innerAlgorithm: derSequence(derOid(Oid.sha256WithRsa), derNull()) }],
    ['with an entry without time', { list: [derSequence(derUnsigned(Buffer.from([1])))] }],
    [
      'with an unknown reason',
      {
        list: [
          derSequence(
            derUnsigned(Buffer.from([1])),
            derTime(NOW),
            derSequence(
              encodeExtension({
                oid: Oid.reasonCode,
                critical: false,
                value: Buffer.from('0a0107', 'hex'),
              }),
            ),
          ),
        ],
      },
    ],
    [
      'with one extension twice',
      {
        extensions: [1, 2].map(() => ({
          oid: Oid.authorityKeyIdentifier,
          critical: false,
          value: encodeAuthorityKeyId(Buffer.alloc(20)),
        })),
      },
    ],
  ] satisfies [string, HandMade][])('is refused %s', (_how, options) => {
    expect(codeOf(() => parseCrl(handMade(options)))).toBe('invalid_asn1');
  });

  it('is refused when it is truncated or has trailing bytes', async () => {
    const der = await build({ entries: entries() });
    for (let length = 0; length < der.length; length += 7) {
      expect(codeOf(() => parseCrl(der.subarray(0, length)))).toBe('invalid_asn1');
    }
    expect(codeOf(() => parseCrl(Buffer.concat([der, Buffer.alloc(1)])))).toBe('invalid_asn1');
    expect(codeOf(() => parseCrl(derOctetString(der)))).toBe('invalid_asn1');
  });

  it('is refused beyond 32 MiB and beyond 250,000 entries', async () => {
    expect(codeOf(() => parseCrl(Buffer.alloc(32 * 1024 * 1024 + 1)))).toBe('invalid_asn1');
    const many = Array.from({ length: 250_001 }, (_, index) => {
      const serial = Buffer.alloc(4);
      serial.writeUInt32BE(index + 1);
      return encodeCrlEntry({ serial, revokedAt: NOW });
    });
    expect(codeOf(() => parseCrl(handMade({ list: [Buffer.concat(many)] })))).toBe('invalid_asn1');
    expect(parseCrl(handMade({ list: [Buffer.concat(many.slice(1))] })).revoked.size).toBe(250_000);
  });

  it('throws nothing but an AppError for 500 mutations, and none of them verifies', async () => {
    const der = await build({ entries: entries() });
    for (const bad of mutations(der, 500)) {
      if (bad.equals(der)) continue;
      const code = codeOf(() => {
        expect(isCrlIssuedBy(parseCrl(bad), authority.certificate)).toBe(false);
      });
      expect([undefined, 'invalid_asn1']).toContain(code);
    }
  });
});
