import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { StoredDepAccounts } from '../../../src/dep/client/dep-accounts.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { createConfirmAccountTask } from '../../../src/dep/tokens/confirm-account-task.js';
import { DepTokens } from '../../../src/dep/tokens/dep-tokens.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';

let test: TestDatabase;
let apple: DepStandIn;

beforeAll(async () => {
  test = await createTestDatabase();
  apple = await startDepStandIn({ authority: await createLabAuthority() });
});
afterAll(async () => {
  await apple.close();
  await test.drop();
});

it('a certificate becomes a token, and the token an account that Apple knows', async () => {
  const { db } = test;
  const [box, jobs] = [new SecretBox(Buffer.alloc(32, 5)), createJobQueue()];
  const { logger, lines } = capturingLogger();
  const given = { db, box, logger, isLabOn: true };
  const accounts = new StoredDepAccounts({
    ...given,
    host: apple.url,
    ca: apple.caPem,
    musterVersion: '1.0',
  });
  const tokens = new DepTokens({ ...given, jobs });
  const confirmation = createConfirmAccountTask({
    ...given,
    accounts,
    jobs: new DepJobs(jobs),
  });
  const context = { jobId: 1, attempt: 1, signal: new AbortController().signal };
  const row = (id: number) => db.knex('dep_accounts').where({ id }).first();
  try {
    const { pem } = await inTransaction(db, (trx) => tokens.makeCertificate(trx, undefined));
    const sent = await tokens.open(apple.portal.issueTokenFile(Buffer.from(pem)));
    const options = { isForced: false, by: 'test' };
    const taken = await inTransaction(db, (trx) => sent.store(trx, options));
    expect([taken.outcome, taken.warnings]).toEqual(['created', []]);

    apple.portal.signTerms(false);
    await confirmation.run(taken, context);
    expect(await row(taken.accountId)).toMatchObject({
      status: 'terms_not_signed',
      status_text: 'T_C_NOT_SIGNED',
      is_lab: true,
      confirmed_at: null,
      server_name: null,
    });
    apple.portal.signTerms(true);
    await confirmation.run(taken, context);
    expect(await row(taken.accountId)).toMatchObject({
      status: 'ok',
      status_text: null,
      org_name: 'Muster Lab',
      org_type: 'org',
      server_uuid: apple.portal.server().uuid,
    });
    expect(lines.map(({ level }) => level)).not.toContain(50);
  } finally {
    accounts.close();
  }
});
