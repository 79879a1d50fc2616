import { decodePem } from '../../src/crypto/asn1/pem.js';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { issuePushCertificate, privateKeyPem } from '../../src/lab/pki/lab-authority.js';
import { CertificateService } from '../../src/pki/certificates/certificate-service.js';
import { createPushCertificateLoader } from '../../src/push/push-certificates.js';
import { type PushFixture, startPushFixture } from './push-fixture.js';

let fixture: PushFixture;

beforeAll(async () => {
  fixture = await startPushFixture();
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

let topics = 0;

function newTopic(): string {
  topics += 1;
  return `com.apple.mgmt.External.bbbbbbbb-0000-4000-8000-${String(topics).padStart(12, '0')}`;
}

const row = (id: number) => fixture.db.knex('certificates').where({ id });

async function load(topic: string) {
  const { db, box } = fixture;
  return createPushCertificateLoader({ db, box })(topic);
}

describe('the push certificate of a topic', () => {
  it('is undefined when none is stored', async () => {
    await fixture.addCertificate(newTopic());
    expect(await load(newTopic())).toBeUndefined();
  });

  it.each([
    ['is revoked', { revoked_at: new Date() }],
    ['has expired', { not_after: new Date(Date.now() - 1000) }],
    ['is not valid yet', { not_before: new Date(Date.now() + 60_000) }],
    ['has no private key', { rsa_private_key_id: null }],
    ['serves another purpose', { purpose: 'mdm.encrypt' }],
  ])('is never one that %s', async (_, facts) => {
    const topic = newTopic();
    const id = await fixture.addCertificate(topic);
    await row(id).update(facts);
    expect(await load(topic)).toBeUndefined();
  });

  it('is the usable one added last, with its key and its chain', async () => {
    const topic = newTopic();
    const first = await fixture.addCertificate(topic);
    const second = await fixture.addCertificate(topic);
    const revoked = await fixture.addCertificate(topic);
    await row(revoked).update({ revoked_at: new Date() });
    // Issued later, yet added earlier: adding a former certificate again is intended.
    await row(first).update({ not_before: new Date(Date.now() - 1_000) });
    const { certificate: issuer } = fixture.authority;
    await row(second).update({ chain_der: Buffer.concat([issuer.der, issuer.der]) });
    const found = await load(topic);
    const stored = await row(second).first();
    expect(found).toMatchObject({ topic, fingerprint: stored.fingerprint_sha256 });
    const chain = decodePem(found?.certificate ?? '').map(({ der }) => der);
    expect(chain).toEqual([stored.der, issuer.der, issuer.der]);
  });

  it('cannot be added while the lab has its own', async () => {
    const issued = await issuePushCertificate(fixture.authority);
    const service = new CertificateService({
      box: fixture.box,
      isLab: true,
      onAuthoritiesChange: () => undefined,
    });
    const input = {
      purpose: 'mdm.pushcert',
      pem_certificate: service.present(issued.certificate.der),
      pem_private_key: privateKeyPem(issued),
    } as const;
    const work = inTransaction(fixture.db, (trx) => service.add(trx, input));
    await expect(work).rejects.toMatchObject({ code: 'lab_only', status: 409 });
  });
});
