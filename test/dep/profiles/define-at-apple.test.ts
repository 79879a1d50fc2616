import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { StoredDepAccounts } from '../../../src/dep/client/dep-accounts.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { ProfileDefinitions } from '../../../src/dep/profiles/profile-definitions.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { ENROLLMENT_URL } from './profile-samples.js';

let database: TestDatabase;
let apple: DepStandIn;
let accounts: StoredDepAccounts;
let definitions: ProfileDefinitions;
let accountId: number;

beforeAll(async () => {
  database = await createTestDatabase();
  apple = await startDepStandIn({ authority: await createLabAuthority() });
  const [db, box, { logger }] = [
    database.db,
    new SecretBox(Buffer.alloc(32, 7)),
    capturingLogger(),
  ];
  const common = { db, box, logger };
  accounts = new StoredDepAccounts({
    ...common,
    host: apple.url,
    ca: apple.caPem,
    isLabOn: true,
    musterVersion: '1',
  });
  definitions = new ProfileDefinitions({
    ...common,
    accounts,
    enrollmentUrl: ENROLLMENT_URL,
    jobs: new DepJobs(createJobQueue()),
    anchorCertificates: () => Promise.resolve([Buffer.from('an anchor')]),
  });
  const { consumer_key, access_token, ...secrets } = apple.portal.issueToken();
  const [row] = await db
    .knex('dep_accounts')
    .insert({ consumer_key, access_token })
    .returning('id');
  accountId = row.id;
  const seal = (name: 'consumer_secret' | 'access_secret') =>
    box.seal(Buffer.from(secrets[name]), `dep_accounts/${accountId}/${name}`);
  await db.knex('dep_accounts').update({
    sealed_consumer_secret: seal('consumer_secret'),
    sealed_access_secret: seal('access_secret'),
  });
});
afterAll(async () => {
  accounts.close();
  await apple.close();
  await database.drop();
});

async function define(columns: object) {
  const { knex } = database.db;
  const stored = { url: ENROLLMENT_URL, dep_account_id: accountId, status: 'pending' };
  const [row] = await knex('dep_profiles')
    .insert({ ...stored, ...columns })
    .returning('id');
  await definitions.define(row.id);
  return knex('dep_profiles').where({ id: row.id }).first();
}

describe("a profile at Apple's service", () => {
  it('is stored as it was sent, under the UUID that is known here', async () => {
    const skip_setup_items = JSON.stringify(['Siri', 'PaneToCome']);
    const columns = { profile_name: 'Büro', is_supervised: true, skip_setup_items };
    const { uuid, status } = await define(columns);
    const { profiles } = apple.portal.server();
    const [[known, definition] = []] = profiles;
    expect([status, uuid]).toEqual([
      'defined',
      known?.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    ]);
    expect(definition).toEqual({
      profile_name: 'Büro',
      url: ENROLLMENT_URL,
      is_supervised: true,
      allow_pairing: true,
      is_mandatory: false,
      is_mdm_removable: true,
      is_multi_user: false,
      auto_advance_setup: false,
      await_device_configured: false,
      anchor_certs: ['YW4gYW5jaG9y'],
      skip_setup_items: ['Siri', 'PaneToCome'],
    });
  });

  it.each<[string, object, RegExp]>([
    ['FLAGS_INVALID', { is_mdm_removable: false }, /is_supervised/],
    ['CONFIG_NAME_INVALID', { profile_name: 'x'.repeat(126) }, /profile_name to 125/],
    ['CONFIG_URL_INVALID', { url: 'http://mdm.example.com/dep/enroll' }, /https/],
    ['DEPARTMENT_INVALID', { department: 'x'.repeat(126) }, /department to 125/],
    ['MAGIC_INVALID', { org_magic: 'x'.repeat(257) }, /org_magic to 256/],
    ['SUPPORT_PHONE_INVALID', { support_phone_number: '1'.repeat(51) }, /support_phone_number/],
    ['SUPPORT_EMAIL_INVALID', { support_email_address: 'x'.repeat(251) }, /support_email_address/],
    ['LOCALE_INVALID', { language: 'English' }, /language/],
  ])('is refused as %s, and shows what to change', async (word, columns, advice) => {
    const profile = await define({ profile_name: 'Office', ...columns });
    expect(profile).toMatchObject({ status: 'failed', uuid: null });
    expect([profile.status_text, profile.status_advice]).toEqual([
      expect.stringContaining(word),
      expect.stringMatching(advice),
    ]);
  });
});
