import { inTransaction, type Transaction } from '../../src/db/connection/unit-of-work.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { issuePushCertificate, privateKeyPem } from '../../src/lab/pki/lab-authority.js';
import { CertificateService } from '../../src/pki/certificates/certificate-service.js';
import { rearmTopics } from '../../src/push/rearm-task.js';
import { eventually, type PushFixture, startPushFixture, TOPIC } from './push-fixture.js';

let fixture: PushFixture;
let service: CertificateService;

beforeAll(async () => {
  fixture = await startPushFixture();
  const jobs = createJobQueue();
  service = new CertificateService({
    box: fixture.box,
    onAuthoritiesChange: () => undefined,
    onPushCertificate: (trx, topic) => rearmTopics(jobs, trx, [topic]),
  });
});
afterEach(async () => {
  await fixture.reset();
  await fixture.db.knex('certificates').where({ purpose: 'mdm.pushcert' }).delete();
});
afterAll(() => fixture.stop());

const change = <T>(work: (trx: Transaction) => Promise<T>) => inTransaction(fixture.db, work);

/** A certificate that was uploaded without its key, and the key. */
async function addBare() {
  const issued = await issuePushCertificate(fixture.authority, { topic: TOPIC });
  const upload = {
    purpose: 'mdm.pushcert' as const,
    pem_certificate: service.present(issued.certificate.der),
  };
  const id = await change((trx) => service.add(trx, upload));
  const pem_private_key = privateKeyPem(issued);
  return { id, upload, pem_private_key };
}

const jobs = () => fixture.db.knex('jobs').pluck('key');

describe('the key of a push certificate that is added later', () => {
  it.each([
    [
      'to it',
      ({ id, pem_private_key }: Awaited<ReturnType<typeof addBare>>) =>
        change((trx) => service.change(trx, { id, pem_private_key })),
    ],
    [
      'with it once more',
      ({ upload, pem_private_key }: Awaited<ReturnType<typeof addBare>>) =>
        change((trx) => service.add(trx, { ...upload, pem_private_key })),
    ],
  ])('%s makes the waiting devices be pushed', async (_way, bring) => {
    const target = await fixture.device();
    const bare = await addBare();
    expect(await jobs()).toEqual([]);
    const { changes } = fixture.start();
    await fixture.queueCommand(target);
    await eventually(async () => {
      expect(await fixture.pushRow(target)).toMatchObject({ claimed_at: null });
      const { last_push_result } = await fixture.deviceRow(target);
      expect(last_push_result).toBe('no_push_certificate');
    });
    await bring(bare);
    expect(await jobs()).toEqual([`push.rearm:${TOPIC}`]);
    await fixture.runRearmJobs();
    await changes.notify('push_certificates');
    await eventually(() => expect(fixture.accepted(target)).toBe(1));
  });

  it('leaves the certificate added before in use until then', async () => {
    const target = await fixture.device();
    const used = await fixture.addCertificate();
    const bare = await addBare();
    const { changes } = fixture.start();
    await fixture.queueCommand(target);
    await eventually(() => expect(fixture.accepted(target)).toBe(1));
    expect(bare.id).toBeGreaterThan(used);
    await change((trx) => service.change(trx, bare));
    await changes.notify('push_certificates');
    const swaps = fixture.logLines.filter(({ msg }) => msg === 'push certificate changed');
    expect(swaps).toHaveLength(1);
  });
});
