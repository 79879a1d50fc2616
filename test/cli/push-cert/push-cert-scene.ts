import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { type Identity, identityOf } from '../../crypto/identities.js';
import { createTestDatabase } from '../../helpers/database.js';
import { nextKeys } from '../../helpers/prepared-keys.js';
import { removeTemporaryDirectories } from '../../helpers/temporary-directory.js';
import { makeVendor, PushPortal } from '../../pki/push-certificates/push-portal.js';
import { certificatePem, keyPem } from '../../resources/certificate-samples.js';
import { pushCertFixture } from './push-cert-fixture.js';

const DAY = 86_400_000;

export const ACCOUNT = 'mdm@example.com';
export const TOPIC = 'com.apple.mgmt.External.0f000000-0000-4000-8000-000000000001';
export const OTHER_TOPIC = 'com.apple.mgmt.External.0f000000-0000-4000-8000-000000000002';

export type PushCertScene = Awaited<ReturnType<typeof startPushCertScene>>;

/** A database, the portal, and the files of a vendor: `vendor.pem`, `vendor.key`, `apple-N.cer`. */
export async function startPushCertScene() {
  const { db, drop } = await createTestDatabase();
  const vendor = await makeVendor();
  const portal = await PushPortal.open(vendor);
  const box = new SecretBox(Buffer.alloc(32, 5));
  const fixture = pushCertFixture({
    db,
    box,
    config: { publicUrl: 'https://mdm.example.com', lab: false },
  });
  const { file } = fixture;
  writeFileSync(file('vendor.pem'), certificatePem(vendor.leaf.certificate));
  writeFileSync(file('vendor.key'), keyPem(vendor.leaf));
  // As Apple publishes them.
  for (const [at, { der }] of vendor.chain.entries()) writeFileSync(file(`apple-${at}.cer`), der);
  const vendorFiles = {
    vendorCert: ['vendor.pem', 'apple-0.cer', 'apple-1.cer'].map(file),
    vendorKey: file('vendor.key'),
  };
  let lastEvent = 0;

  /** From nothing to the certificate of the portal, in `apple.pem`. */
  const obtain = async (topic = TOPIC): Promise<void> => {
    const out = file('request');
    const { error } = await fixture.request({ appleAccount: ACCOUNT, ...vendorFiles, out });
    if (error !== undefined) throw error;
    writeFileSync(file('apple.pem'), portal.submit(readFileSync(out), topic));
  };

  return {
    ...fixture,
    db,
    portal,
    vendorFiles,
    obtain,
    /** From nothing to a push certificate. */
    imported: async (topic = TOPIC) => {
      await obtain(topic);
      const ran = await fixture.import({ cert: [file('apple.pem')] });
      if (ran.error !== undefined) throw ran.error;
      return ran;
    },
    count: async (table: string) => Number((await db.knex(table).count())[0]?.count),
    /** Of this test. */
    actions: (): Promise<string[]> =>
      db.knex('audit_events').where('id', '>', lastEvent).orderBy('id').pluck('action'),
    enroll: async (topic: string, number = 1) => {
      const row = { is_enrolled: true, enrollment_state: 'enrolled', topic };
      const rows = Array.from({ length: number }, () => ({ ...row, udid: randomUUID() }));
      await db.knex('devices').insert(rows);
    },
    reset: async () => {
      for (const table of ['certificates', 'certificate_signing_requests', 'devices']) {
        await db.knex(table).delete();
      }
      lastEvent = (await db.knex('audit_events').max('id as last').first())?.last ?? 0;
    },
    stop: async () => {
      removeTemporaryDirectories();
      await drop();
    },
  };
}

/** A push certificate that another server had requested. */
export async function strayPushIdentity(days = 90): Promise<Identity> {
  return identityOf(await nextKeys(), {
    subject: [
      { type: 'UID', value: TOPIC },
      { type: 'CN', value: 'APSP:elsewhere' },
    ],
    notBefore: new Date(Date.now() - 100 * DAY),
    notAfter: new Date(Date.now() + days * DAY),
  });
}
