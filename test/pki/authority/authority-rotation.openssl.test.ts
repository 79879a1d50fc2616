import { randomBytes } from 'node:crypto';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { generateEcKeyPair } from '../../../src/crypto/keys/keys.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { connectDatabase } from '../../../src/db/connection/database.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { AppError } from '../../../src/errors.js';
import {
  type CertificateAuthorities,
  createCertificateAuthorities,
} from '../../../src/pki/authority/authorities.js';
import { makeAuthorityKeys, rotateAuthority } from '../../../src/pki/authority/stored-authority.js';
import { createTrust } from '../../../src/pki/trust/trust.js';
import { type OpenSsl, openSsl } from '../../crypto/openssl.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { storePreparedAuthority } from '../../helpers/prepared-authority.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { capturingLogger } from '../../http/log-lines.js';

describe('the rotation of the certificate authority', () => {
  let database: TestDatabase;
  let authorities: CertificateAuthorities;
  let tool: OpenSsl;
  const { logger } = capturingLogger();
  const box = new SecretBox(randomBytes(32));

  beforeAll(async () => {
    tool = openSsl();
    database = await createTestDatabase();
  });
  afterAll(async () => {
    tool.remove();
    await database.drop();
  });
  beforeEach(async () => {
    await database.db.knex('certificates').delete();
    await database.db.knex('rsa_private_keys').delete();
    await storePreparedAuthority(database.db, box);
    authorities = await createCertificateAuthorities({
      db: database.db,
      box,
      logger,
      publicUrl: 'https://mdm.example.com',
    });
  });

  async function rotate(bits: 2048 | 3072 | 4096 = 2048, db = database.db) {
    const keys = bits === 2048 ? await nextKeys() : await makeAuthorityKeys(bits);
    return await inTransaction(db, (trx) => rotateAuthority(trx, box, { keys }));
  }

  it('is all or nothing', async () => {
    const keys = await makeAuthorityKeys();
    const failing = inTransaction(database.db, async (trx) => {
      await rotateAuthority(trx, box, { keys });
      throw new AppError('internal_error', 500, 'in between');
    });
    await expect(failing).rejects.toThrow('in between');
    const rows = await database.db.knex('certificates').select('id', 'issues_identities');
    expect(rows).toEqual([{ id: authorities.current.id, issues_identities: true }]);
    expect(await database.db.knex('rsa_private_keys')).toHaveLength(1);
  });

  it('makes a CA with a new name and key for ten years, and unmarks the former one', async () => {
    const former = authorities.current;
    const { made, former: reported } = await rotate(3072);
    expect(reported).toMatchObject({ id: former.id, devices: 0, last_not_after: null });
    const { certificate } = made;
    expect(certificate.subject).toMatch(/^CN=Muster Device CA [0-9a-f]{8}$/);
    expect(certificate.subject).not.toBe(former.certificate.subject);
    expect(certificate).toMatchObject({ isCa: true, pathLength: 0 });
    expect(certificate.publicKey.asymmetricKeyDetails?.modulusLength).toBe(3072);
    const years = certificate.notAfter.getUTCFullYear() - new Date().getUTCFullYear();
    expect(years).toBe(10);
    const rows = await database.db
      .knex('certificates as c')
      .join('rsa_private_keys as k', 'k.id', 'c.rsa_private_key_id')
      .orderBy('c.id')
      .select('c.id', 'issues_identities', 'is_own_ca', 'purpose', 'key_size', 'revoked_at');
    const own = { is_own_ca: true, purpose: 'mdm.cacert', revoked_at: null };
    expect(rows).toEqual([
      { id: former.id, issues_identities: false, key_size: 2048, ...own },
      { id: made.id, issues_identities: true, key_size: 3072, ...own },
    ]);
  });

  it('runs one by one when two are started at once, and one CA issues', async () => {
    const elsewhere = connectDatabase({ connectionString: database.connectionString });
    try {
      const both = await Promise.all([rotate(), rotate(2048, elsewhere)]);
      const made = both.map(({ made: { id } }) => id).sort((one, other) => one - other);
      const formers = both.map(({ former }) => former?.id);
      expect(formers).toContain(authorities.current.id);
      expect(formers).toContain(made[0]);
      const issuing = await database.db.knex('certificates').where({ issues_identities: true });
      expect(issuing.map(({ id }) => id)).toEqual([made[1]]);
    } finally {
      await elsewhere.close();
    }
  });

  it('leaves identities of both CAs trusted and able to enroll', async () => {
    const { publicKey } = await nextKeys();
    const old = authorities.current.issueDeviceCertificate({ publicKey, subject: [] });
    await rotate();
    await authorities.reload();
    const fresh = authorities.current.issueDeviceCertificate({ publicKey, subject: [] });
    expect(fresh.issuer).not.toBe(old.issuer);
    const trust = await createTrust({ db: database.db });
    for (const certificate of [old, fresh]) {
      const issuerTrust = trust.issuerTrustOf({ certificate });
      expect(issuerTrust).toMatchObject({ mayEnroll: true, isExpired: false });
    }
    expect(trust.issuerTrustOf({ certificate: old })?.issuer).not.toEqual(
      trust.issuerTrustOf({ certificate: fresh })?.issuer,
    );
  });

  it('makes chains that openssl verifies, of RSA and EC keys, each by its own CA only', async () => {
    await rotate(4096);
    await authorities.reload();
    const all = authorities.all();
    const pairs = [nextKeys(), generateEcKeyPair('P-256'), generateEcKeyPair('P-384')];
    for (const { publicKey } of await Promise.all(pairs)) {
      for (const [index, authority] of all.entries()) {
        tool.write(`ca${index}.pem`, encodePem('CERTIFICATE', authority.certificate.der));
        const leaf = authority.issueDeviceCertificate({ publicKey, subject: [] });
        tool.write(`leaf${index}.pem`, encodePem('CERTIFICATE', leaf.der));
      }
      const verify = (ca: number, leaf: number) =>
        tool
          .run(
            'verify',
            '-x509_strict',
            '-purpose',
            'sslclient',
            '-CAfile',
            `ca${ca}.pem`,
            `leaf${leaf}.pem`,
          )
          .toString();
      expect([verify(0, 0), verify(1, 1)]).toEqual(['leaf0.pem: OK\n', 'leaf1.pem: OK\n']);
      expect(() => verify(0, 1)).toThrow('unable to get local issuer certificate');
    }
    const text = tool.run('x509', '-in', 'leaf0.pem', '-noout', '-text').toString();
    const [{ keyId } = { keyId: '' }] = all;
    expect(text).toContain(`URI:https://mdm.example.com/crl/${keyId}.crl`);
    expect(text).toContain('OCSP - URI:https://mdm.example.com/ocsp');
    expect(text).toContain(`CA Issuers - URI:https://mdm.example.com/ca/${keyId}.cer`);
  });
});
