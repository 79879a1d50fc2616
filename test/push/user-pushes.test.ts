import { randomBytes, randomUUID } from 'node:crypto';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import { requestMissingPushes } from '../../src/db/push/push-enqueue.js';
import { createJobQueue } from '../../src/jobs/job-queue.js';
import { CourierClient } from '../../src/lab/apns/courier-client.js';
import type { CourierPush } from '../../src/lab/apns/courier-lines.js';
import { rearmTopics } from '../../src/push/rearm-task.js';
import {
  eventually,
  type PushFixture,
  startPushFixture,
  type TestTarget,
  TOPIC,
} from './push-fixture.js';

let fixture: PushFixture;
let target: TestTarget;
let user: TestTarget;

beforeAll(async () => {
  fixture = await startPushFixture();
  await fixture.addCertificate();
});
beforeEach(async () => {
  target = await fixture.device();
  user = await addUser(target);
});
afterEach(async () => {
  await fixture.reset();
  await fixture.db.knex('device_users').delete();
});
afterAll(() => fixture.stop());

async function addUser({ id: device_id }: TestTarget, user_key = 'Anna'): Promise<TestTarget> {
  const added = { token: randomBytes(32).toString('hex'), pushMagic: randomUUID() };
  const plain = JSON.stringify({ token: added.token, push_magic: added.pushMagic });
  const identity = `device_users/${device_id}/${user_key}/push`;
  const [{ id }] = await fixture.db.knex('device_users').insert(
    {
      device_id,
      user_key,
      is_enrolled: true,
      push_state: 'ok',
      sealed_push: fixture.box.seal(Buffer.from(plain), identity),
    },
    'id',
  );
  return { ...added, id };
}

function queueFor({ id: userId }: TestTarget, after?: Date): Promise<number> {
  const command = { userId, requestType: 'ProfileList', parameters: {}, options: { after } };
  return inTransaction(fixture.db, (trx) => fixture.queue.add(trx, target.id, command));
}

const userRow = () => fixture.db.knex('device_users').where({ id: user.id }).first();
const pushRow = () => fixture.db.knex('user_pushes').where({ device_user_id: user.id }).first();

async function ended() {
  await eventually(async () => {
    expect((await userRow()).last_push_result).not.toBeNull();
    expect((await pushRow())?.claimed_at ?? null).toBeNull();
  });
}

describe('a command of a user', () => {
  it("pushes the user's own token with the topic of the device, and no other", async () => {
    const other = await addUser(target, 'ben');
    const { results } = fixture.start();
    const courier = new CourierClient({ url: fixture.standIn.courierUrl });
    const received = new Promise<CourierPush>((resolve) => {
      // A push under another topic would not reach it.
      void courier.connect(user.token, TOPIC, resolve);
    });
    await queueFor(user);
    expect((await received).payload).toEqual({ mdm: user.pushMagic });
    await courier.close();
    await ended();
    expect(await userRow()).toMatchObject({
      push_state: 'ok',
      last_push_result: 'delivered',
      failed_push_count: 0,
      last_push_at: expect.any(Date),
    });
    expect(await pushRow()).toMatchObject({ attempts: 1, claimed_at: null });
    expect([fixture.accepted(target), fixture.accepted(other)]).toEqual([0, 0]);
    expect(await fixture.pushRow(target)).toBeUndefined();
    expect((await fixture.deviceRow(target)).last_push_at).toBeNull();
    expect(results).toEqual(new Map([['delivered', 1]]));
  });

  it('does not delay a push of the device, nor the other way round', async () => {
    fixture.start();
    await fixture.queueCommand(target);
    await eventually(async () =>
      expect(await fixture.pushRow(target)).toMatchObject({ attempts: 1 }),
    );
    await fixture.db.knex('commands').delete();
    await queueFor(user);
    await eventually(() => expect(fixture.accepted(user)).toBe(1));
    await fixture.db.knex('device_pushes').update({ due_at: new Date(0) });
    await eventually(async () => expect(await fixture.pushRow(target)).toBeUndefined());
    expect(fixture.accepted(target)).toBe(1);
  });

  it('is pushed at its time when that is later', async () => {
    fixture.start();
    await queueFor(user, new Date(Date.now() + 3_600_000));
    expect(fixture.accepted(user)).toBe(0);
    const { due_at } = await pushRow();
    expect(due_at.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  });

  it('requests no push of a user who cannot be pushed', async () => {
    for (const columns of [{ is_enrolled: false }, { push_state: 'bad_token' }]) {
      await fixture.db.knex('device_users').where({ id: user.id }).update(columns);
      await queueFor(user);
      expect(await pushRow()).toBeUndefined();
    }
  });
});

describe('the push of a user', () => {
  it.each([
    [410, 'Unregistered', 'unregistered'],
    [400, 'BadDeviceToken', 'bad_token'],
  ])('answered %i %s changes that user alone, to %s', async (status, reason, push_state) => {
    fixture.standIn.addAnswer({ token: user.token, status, reason });
    fixture.start();
    await queueFor(user);
    await ended();
    expect(await userRow()).toMatchObject({
      push_state,
      last_push_result: reason,
      failed_push_count: 1,
      is_enrolled: true,
    });
    await eventually(async () => expect(await pushRow()).toBeUndefined());
    expect(await fixture.deviceRow(target)).toMatchObject({
      push_state: 'ok',
      failed_push_count: 0,
    });
  });

  it('is repeated while the command is pending, and ends with it', async () => {
    fixture.start();
    const id = await queueFor(user);
    await eventually(() => expect(fixture.accepted(user)).toBe(1));
    await ended();
    await fixture.db.knex('user_pushes').update({ due_at: new Date(0) });
    await eventually(() => expect(fixture.accepted(user)).toBe(2));
    await eventually(async () => expect(await pushRow()).toMatchObject({ attempts: 2 }));
    await fixture.db.knex('commands').where({ id }).update({ status: 'Acknowledged' });
    await fixture.db.knex('user_pushes').update({ due_at: new Date(0) });
    await eventually(async () => expect(await pushRow()).toBeUndefined());
    expect(fixture.accepted(user)).toBe(2);
  });

  it('ends once the device is no longer enrolled', async () => {
    await queueFor(user);
    await fixture.db.knex('devices').where({ id: target.id }).update({ is_enrolled: false });
    fixture.start();
    await eventually(async () => expect(await pushRow()).toBeUndefined());
    expect(fixture.accepted(user)).toBe(0);
  });

  it('is logged once when its token cannot be read', async () => {
    await fixture.db
      .knex('device_users')
      .where({ id: user.id })
      .update({ sealed_push: fixture.box.seal(Buffer.from('{}'), 'elsewhere') });
    await queueFor(user);
    fixture.start();
    const errors = () => fixture.logLines.filter(({ level }) => level === 50);
    await eventually(() => expect(errors()).toHaveLength(1));
    expect(errors()).toMatchObject([
      { deviceId: target.id, sealLabel: `device_users/${target.id}/Anna/push` },
    ]);
  });

  it('is sent once there is a certificate, if it waited for that', async () => {
    const jobs = createJobQueue();
    await queueFor(user);
    const inAnHour = new Date(Date.now() + 3_600_000);
    await fixture.db.knex('user_pushes').update({ due_at: inAnHour });
    await inTransaction(fixture.db, (trx) => rearmTopics(jobs, trx, [TOPIC]));
    await fixture.runRearmJobs();
    expect((await pushRow()).due_at.getTime()).toBeLessThan(Date.now() + 10_000);
  });

  it('is found when it was never requested', async () => {
    await queueFor(user);
    await fixture.queueCommand(target);
    await fixture.db.knex('user_pushes').delete();
    expect(await requestMissingPushes(fixture.db.knex, 'user', 10)).toBe(1);
    expect(await requestMissingPushes(fixture.db.knex, 'user', 10)).toBe(0);
    expect(await pushRow()).toMatchObject({ attempts: 0, claimed_at: null });
    await fixture.db.knex('device_pushes').delete();
    await fixture.db.knex('commands').whereNull('device_user_id').delete();
    expect(await requestMissingPushes(fixture.db.knex, 'device', 10)).toBe(0);
  });
});
