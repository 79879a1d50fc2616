import { randomBytes } from 'node:crypto';
import { parseBypassCode } from '../../../src/crypto/secrets/bypass-code.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { inTransaction } from '../../../src/db/connection/unit-of-work.js';
import { mergeDevices } from '../../../src/db/devices/device-merge.js';
import { DepError } from '../../../src/dep/client/dep-error.js';
import { ActivationLocks } from '../../../src/dep/devices/activation-lock.js';
import { createActivationLockTask } from '../../../src/dep/devices/activation-lock-task.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import vectors from '../../fixtures/dep/activation-lock-bypass-codes.json';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { capturingLogger } from '../../http/log-lines.js';
import { Apple, addAccount, addListed, type Listed } from './listed-devices.js';

const SERIAL = 'C02MT66KFLHH';
const box = new SecretBox(randomBytes(32));
const queue = createJobQueue();
const { logger, text: logText } = capturingLogger();

let database: TestDatabase;
let apple: Apple;
let listed: Listed;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  apple = new Apple();
  for (const table of ['dep_accounts', 'devices']) await knex()(table).delete();
  await knex().raw('delete from graphile_worker._private_jobs');
  const dep_account_id = await addAccount(knex());
  listed = await addListed(knex(), { dep_account_id, serial_number: SERIAL });
});

const knex = () => database.db.knex;

/** Asks for a lock; returns the id of its code. */
async function request(lostMessage?: string, isForced = false): Promise<number> {
  const locks = new ActivationLocks(box, queue);
  const asked = { id: listed.id, lostMessage, isForced };
  return (await inTransaction(database.db, (trx) => locks.request(trx, asked))).secretId;
}

/** Runs what waits for its turn, whenever that is, and nothing that is added by it. */
async function runWaiting(): Promise<void> {
  const task = createActivationLockTask({ db: database.db, accounts: apple, queue, box, logger });
  const { rows } = await knex().raw(
    'delete from graphile_worker._private_jobs returning id, payload',
  );
  for (const { id, payload } of rows) {
    const context = { jobId: Number(id), attempt: 1, signal: new AbortController().signal };
    await task.run(task.parse(payload), context);
  }
}

const row = () =>
  knex()('dep_devices')
    .first('activation_lock_result', 'activation_lock_at', 'last_error')
    .where({ id: listed.id });
const waiting = () => knex()('jobs').orderBy('id').select('task', 'run_at');
const codes = () => knex()('device_secrets').orderBy('id').select();

/** Puts one of the published codes in the place of the new one. */
async function useVector(secretId: number, { code } = vectors[1] ?? { code: '' }): Promise<void> {
  const sealed = box.seal(
    Buffer.from(code),
    `devices/${listed.deviceId}/activation_lock_bypass_code`,
  );
  await knex()('device_secrets').where({ id: secretId }).update({ sealed });
}

describe('the bypass code', () => {
  it('is stored sealed before it is sent to Apple', async () => {
    const secretId = await request();
    const [secret] = await codes();
    expect(secret).toMatchObject({
      id: secretId,
      device_id: listed.deviceId,
      enrollment_number: 0,
    });
    expect(secret).toMatchObject({ kind: 'activation_lock_bypass_code', proven_serial: SERIAL });
    const code = box
      .open(secret.sealed, `devices/${listed.deviceId}/activation_lock_bypass_code`)
      .toString();
    expect(code).toMatch(/^[0-9A-Z]{5}-[0-9A-Z]{5}(-[0-9A-Z]{4}){4}$/);
    expect(parseBypassCode(code)).toHaveLength(16);
    expect(apple.locks).toEqual([]);
    const { rows: jobs } = await knex().raw('select payload from graphile_worker._private_jobs');
    expect(jobs).toEqual([{ payload: { id: listed.id, secretId } }]);
  });

  it('is sent to Apple as its hash, with the message', async () => {
    const [, vector] = vectors;
    await useVector(await request('Lost'), vector);
    await runWaiting();
    expect(apple.locks).toEqual([
      { serialNumber: SERIAL, escrowKey: vector?.hash, lostMessage: 'Lost' },
    ]);
    expect(await row()).toMatchObject({ activation_lock_result: 'SUCCESS', last_error: null });
    expect(logText()).not.toContain(vector?.code);
  });

  it.each(['FAILED', null])('stays stored although Apple answers %s', async (word) => {
    apple.results.set(SERIAL, word);
    await request();
    await runWaiting();
    const result = word ?? 'no_answer';
    const last_error = `activation lock: Apple's answer is ${result}`;
    expect(await row()).toMatchObject({ activation_lock_result: result, last_error });
    expect([(await codes()).length, await waiting()]).toEqual([1, []]);
  });

  it('moves to the record that the device is merged into', async () => {
    const secretId = await request();
    await useVector(secretId);
    const enrolled = { udid: 'u', serial_number: SERIAL, proven_serial: SERIAL };
    const [{ id: into }] = await knex()('devices').insert(enrolled, 'id');
    const reseal = (sealed: Buffer, from: string, to: string) =>
      box.seal(box.open(sealed, from), to);
    await inTransaction(database.db, (trx) =>
      mergeDevices(trx, { into, from: listed.deviceId, reseal }),
    );
    await runWaiting();
    expect(apple.locks.map(({ escrowKey }) => escrowKey)).toEqual([vectors[1]?.hash]);
    const records = knex()('device_secret_records').select('id', 'device_id', 'is_current');
    expect(await records).toEqual([{ id: secretId, device_id: into, is_current: true }]);
  });

  it('is not sent when a newer one was made meanwhile, or its device was deleted', async () => {
    await request();
    const second = await request(undefined, true);
    await useVector(second);
    await runWaiting();
    expect(apple.locks).toEqual([{ serialNumber: SERIAL, escrowKey: vectors[1]?.hash }]);
    await knex()('dep_devices').update({ activation_lock_result: null });
    await request();
    await knex()('devices').where({ id: listed.deviceId }).delete();
    await runWaiting();
    expect(apple.locks).toHaveLength(1);
  });
});

describe('the bypass code of a lock that is requested twice', () => {
  const current = async () => {
    const where = { is_current: true };
    const [record] = await knex()('device_secret_records').where(where).select('id');
    const secret = await knex()('device_secrets').where({ id: record.id }).first('sealed');
    return box
      .open(secret.sealed, `devices/${listed.deviceId}/activation_lock_bypass_code`)
      .toString();
  };

  it('is not made a second time during the call to Apple', async () => {
    const secretId = await request();
    await expect(request()).rejects.toMatchObject({ code: 'conflict', status: 409 });
    expect((await codes()).map(({ id }) => id)).toEqual([secretId]);
  });

  it('is again that of the first lock when the second fails', async () => {
    await useVector(await request());
    await runWaiting();
    apple.results.set(SERIAL, 'DEVICE_ALREADY_LOCKED');
    await useVector(await request(undefined, true), vectors[2]);
    expect(await current()).toBe(vectors[2]?.code);
    await runWaiting();
    expect([await current(), (await codes()).length]).toEqual([vectors[1]?.code, 3]);
    expect(await row()).toMatchObject({ activation_lock_result: 'DEVICE_ALREADY_LOCKED' });
  });

  it('is replaced by a new code that Apple accepts', async () => {
    await useVector(await request());
    await runWaiting();
    await useVector(await request(undefined, true), vectors[2]);
    await runWaiting();
    expect([await current(), (await codes()).length]).toEqual([vectors[2]?.code, 2]);
  });
});

describe('a lock whose request failed', () => {
  it('is retried while Apple cannot be reached, less and less often, a limited number of times', async () => {
    await request();
    apple.fault = new DepError('unreachable', 'does not answer');
    const waits: number[] = [];
    for (;;) {
      const before = Date.now();
      await runWaiting();
      const [job] = await waiting();
      if (job === undefined) break;
      waits.push(Math.round((job.run_at.getTime() - before) / 60_000));
      expect(await row()).toMatchObject({ activation_lock_result: 'requested' });
    }
    expect(waits).toEqual([3, 6, 12, 24, 48, 96, 192, 384]);
    const last_error = 'activation lock: does not answer';
    expect(await row()).toMatchObject({ activation_lock_result: 'no_answer', last_error });
  });

  it('is retried at the time that Apple names', async () => {
    const retryAt = new Date(Date.now() + 77_000);
    apple.fault = new DepError('throttled', 'too often', { status: 429, retryAt });
    await request();
    await runWaiting();
    expect(await waiting()).toEqual([{ task: 'dep.activation_lock', run_at: retryAt }]);
    apple.fault = undefined;
    await runWaiting();
    expect(await row()).toMatchObject({ activation_lock_result: 'SUCCESS', last_error: null });
  });

  it('shows the reason when the admin has to act', async () => {
    apple.fault = new DepError('terms_not_signed', 'new terms', { text: 'T_C_NOT_SIGNED' });
    await request();
    await runWaiting();
    const last_error = 'activation lock: new terms: T_C_NOT_SIGNED';
    expect(await row()).toMatchObject({ activation_lock_result: 'refused', last_error });
    expect(await waiting()).toEqual([]);
  });

  it('fails its job after an unexpected error', async () => {
    apple.fault = new TypeError('a mistake');
    await request();
    await expect(runWaiting()).rejects.toThrow('a mistake');
  });
});
