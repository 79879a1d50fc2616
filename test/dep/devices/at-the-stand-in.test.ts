import { randomBytes } from 'node:crypto';
import { parseBypassCode } from '../../../src/crypto/secrets/bypass-code.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { DepJobs } from '../../../src/dep/dep-jobs.js';
import { DepDeviceActions } from '../../../src/dep/dep-services.js';
import { createActivationLockTask } from '../../../src/dep/devices/activation-lock-task.js';
import { createDisownTask } from '../../../src/dep/devices/disown-task.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { type DepStandIn, startDepStandIn } from '../../../src/lab/dep/dep-stand-in.js';
import { createLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { capturingLogger } from '../../http/log-lines.js';
import { type AccountFixture, startAccountFixture } from '../client/account-fixture.js';
import { addListed } from './listed-devices.js';

const SERVER = 'Devices';
const box = new SecretBox(randomBytes(32));
const queue = createJobQueue();
const { logger } = capturingLogger();

let fixture: AccountFixture;
let apple: DepStandIn;

beforeAll(async () => {
  fixture = await startAccountFixture();
  apple = await startDepStandIn({ authority: await createLabAuthority() });
});
afterAll(async () => {
  await fixture.stop();
  await apple.close();
});

/** What an account has, and the tasks that act for it. */
async function start() {
  const { consumer_key, consumer_secret, access_token, access_secret } = apple.portal.issueToken({
    server: SERVER,
  });
  const token = { consumer_key, consumer_secret, access_token, access_secret };
  const accountId = await fixture.addAccount(token);
  const clock = { now: () => Date.now(), wait: () => Promise.resolve() };
  const accounts = fixture.start({ host: apple.url, ca: apple.caPem, isLabOn: true, clock });
  const deps = { db: fixture.db, accounts, queue, jobs: new DepJobs(queue), logger, box };
  const tasks = [createDisownTask(deps), createActivationLockTask(deps)];
  const runWaiting = async () => {
    const { knex } = fixture.db;
    const waiting = await knex('jobs').whereIn('task', ['dep.disown', 'dep.activation_lock']);
    for (const { id, task: name } of waiting) {
      const { rows } = await knex.raw(
        'delete from graphile_worker._private_jobs where id = ? returning payload',
        [id],
      );
      const task = tasks.find((each) => each.name === name);
      const context = { jobId: id, attempt: 1, signal: new AbortController().signal };
      await task?.run(task.parse(rows[0].payload) as never, context);
    }
  };
  return { accountId, runWaiting, devices: new DepDeviceActions({ box, jobs: queue }) };
}

it('devices are locked and disowned at the stand-in, and show the results', async () => {
  const { accountId, devices, runWaiting } = await start();
  const { knex } = fixture.db;
  const [kept = '', gone = ''] = apple.portal.addDevices(SERVER, { family: 'Mac', count: 2 });
  const ids: number[] = [];
  for (const serial_number of [kept, gone, 'C02NOTTHERE']) {
    ids.push((await addListed(knex, { dep_account_id: accountId, serial_number })).id);
  }
  const id = ids[0] ?? 0;
  const lock = () => ({ id, lostMessage: 'Lost', isForced: true });
  const { deviceId } = await inTransaction(fixture.db, (trx) => devices.lock(trx, lock()));
  const serialNumbers = [gone, 'C02NOTTHERE'];
  const asked = { serialNumbers, confirm: 'disown 2 devices forever', isForced: false };
  await inTransaction(fixture.db, (trx) => devices.disown(trx, asked));
  await runWaiting();
  const rows = () => knex('dep_devices').whereIn('id', ids).orderBy('id');
  expect(await rows()).toMatchObject([
    { activation_lock_result: 'SUCCESS', disown_result: null, last_error: null },
    { disown_result: 'SUCCESS', last_error: null },
    { disown_result: 'NOT_ACCESSIBLE', last_error: 'disown: NOT_ACCESSIBLE' },
  ]);
  expect(apple.portal.lookUp([kept, gone]).map(({ serial_number }) => serial_number)).toEqual([
    kept,
  ]);
  const [secret] = await knex('device_secrets').where({ device_id: deviceId });
  const code = box.open(secret.sealed, `devices/${deviceId}/activation_lock_bypass_code`);
  expect(parseBypassCode(code.toString())).toHaveLength(16);
  await inTransaction(fixture.db, (trx) => devices.lock(trx, lock()));
  await runWaiting();
  const [again] = await rows();
  expect(again).toMatchObject({ activation_lock_result: 'DEVICE_ALREADY_LOCKED' });
  expect(again.last_error).toMatch(
    'DEVICE_ALREADY_LOCKED: the bypass code is that of the earlier lock',
  );
});
