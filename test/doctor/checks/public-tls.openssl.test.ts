import type { ServerOptions } from 'node:https';
import { decodePemBlock } from '../../../src/crypto/asn1/pem.js';
import { publicAddressCheck } from '../../../src/doctor/checks/public-address.js';
import { publicTlsCheck } from '../../../src/doctor/checks/public-tls.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { brief, closeServers, examine, listenWith } from '../doctor-helpers.js';
import { type Leaf, PrivatePki, RSA_1024, RSA_2048 } from '../private-pki.js';

let test: TestDatabase;
let pki: PrivatePki;

beforeAll(async () => {
  test = await createTestDatabase();
  pki = new PrivatePki();
  await trustRoot();
});
afterEach(closeServers);
afterAll(async () => {
  pki.remove();
  await test.drop();
});

/** As POST /api/v1/certificates with purpose dep.anchor stores it. */
async function trustRoot(): Promise<void> {
  const der = decodePemBlock(pki.root.toString(), 'CERTIFICATE');
  await test.db.knex('certificates').insert({
    ...{ purpose: 'dep.anchor', subject: 'CN=Test root', issuer: 'CN=Test root', serial: '1' },
    ...{ der, fingerprint: Buffer.alloc(32, 1), is_ca: true },
    ...{ not_before: new Date(0), not_after: new Date('2099-01-01') },
  });
}

/** What is found at a server with this certificate. */
async function judge(leaf: Leaf, tls: ServerOptions = {}, host = 'localhost') {
  const { key, cert } = leaf;
  const port = await listenWith(undefined, { key, cert, ...tls });
  return await examine({
    checks: [publicTlsCheck, publicAddressCheck],
    env: { PUBLIC_URL: `https://${host}:${port}` },
    db: test.db,
  });
}

const GOOD = ['ok public_tls', 'ok public_address'];
const WEAK = { ciphers: 'ALL:@SECLEVEL=0' };

describe('the doctor at the public address', () => {
  it('accepts TLS 1.3 and an ECDSA or RSA certificate of an anchor that is stored', async () => {
    const [first] = await judge(pki.leaf());
    expect(first?.what).toMatch(
      /^https:\/\/localhost:\d+ speaks TLSv1\.3 \(TLS_AES_256_GCM_SHA384\); its certificate is valid until /,
    );
    expect(first).toMatchObject({ severity: 'ok', why: null, cure: null, check: 'public_tls' });
    expect(brief(await judge(pki.leaf({ key: RSA_2048 })))).toEqual(GOOD);
  });

  it.each<[string, () => Leaf, string, RegExp]>([
    [
      'that has expired',
      () => pki.leaf({ until: -3 }),
      'error tls_certificate_expired',
      /^The certificate of https:\/\/localhost:\d+ expired on \d{4}-\d\d-\d\d\.$/,
    ],
    [
      'that expires soon',
      () => pki.leaf({ until: 5.5 }),
      'warning tls_certificate_expiring',
      /expires on \d{4}-\d\d-\d\d, in 5 days\.$/,
    ],
    [
      'that is not valid yet',
      () => pki.leaf({ from: 2 }),
      'error tls_certificate_not_yet_valid',
      /is not valid before/,
    ],
    [
      'for another name',
      () => pki.leaf({ host: 'other.example' }),
      'error tls_certificate_wrong_name',
      /is for other\.example, not for localhost\.$/,
    ],
    [
      'with an RSA key of 1024 bits',
      () => pki.leaf({ key: RSA_1024 }),
      'error tls_certificate_weak_key',
      /has a key of 1024 bits \(RSA\)\.$/,
    ],
    [
      'that SHA-1 signs',
      () => pki.leaf({ digest: 'sha1' }),
      'error tls_certificate_weak_digest',
      /has a SHA-1 signature: "CN=localhost"\.$/,
    ],
    [
      'that is valid for longer than devices accept',
      () => pki.leaf({ until: 900 }),
      'error tls_certificate_too_long',
      /is valid for 930 days; devices accept 825 at most\.$/,
    ],
    [
      'that signs itself',
      () => pki.leaf({ issuer: 'itself' }),
      'warning tls_certificate_private',
      /is of a private CA, or signed by itself \(DEPTH_ZERO_SELF_SIGNED_CERT\)\.$/,
    ],
    [
      'without its intermediate',
      () => {
        const { key, leaf } = pki.leaf();
        return { key, leaf, cert: leaf };
      },
      'error tls_chain_incomplete',
      /ends at an unknown issuer \(UNABLE_TO_/,
    ],
  ])('reports a certificate %s, and nothing else', async (_what, make, found, said) => {
    const findings = await judge(make(), WEAK);
    expect(brief(findings)).toEqual([found, 'ok public_address']);
    expect(findings[0]?.what).toMatch(said);
    expect([findings[0]?.why, findings[0]?.cure]).toEqual([expect.any(String), expect.any(String)]);
    expect(brief(await judge(pki.leaf(), WEAK))).toEqual(GOOD);
  });

  it('reports a server that speaks TLS 1.1 at most', async () => {
    const old = { ...WEAK, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } as const;
    const [finding, ...rest] = await judge(pki.leaf({ key: RSA_2048 }), old);
    expect(brief([...(finding ? [finding] : [])])).toEqual(['error tls_protocol_old']);
    expect(finding?.what).toMatch(/speaks TLSv1\.1 at most; devices need TLS 1\.2 or newer\.$/);
    expect(brief(rest)).toEqual(['ok public_address']);
  });

  it('reports a server without forward secrecy', async () => {
    const plain = { ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' } as const;
    const [finding] = await judge(pki.leaf({ key: RSA_2048 }), plain);
    expect(brief([...(finding ? [finding] : [])])).toEqual(['error tls_no_forward_secrecy']);
    expect(finding?.what).toMatch(/offers TLS_RSA_WITH_AES_128_GCM_SHA256 and no cipher suite/);
  });

  it('reports a server that speaks no TLS at all', async () => {
    const port = await listenWith();
    const env = { PUBLIC_URL: `https://localhost:${port}` };
    const checks = [publicTlsCheck, publicAddressCheck];
    expect(brief(await examine({ checks, env, db: test.db }))).toEqual([
      'error tls_handshake_failed',
      'error public_address_no_answer',
    ]);
  });
});
