import { randomUUID } from 'node:crypto';
import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type Reply, type TestDevice } from '../helpers/device.js';
import { dumpRows } from './rows.js';

let app: TestApp;

beforeAll(async () => {
  // A sweep would end what other tests have left to expire, between two dumps of all rows.
  app = await startApp({ isSweeping: false });
});
afterAll(() => app.stop());

interface Target {
  device: TestDevice;
  id: number;
}

/** Enrolled, its inventory out of the way. */
async function target(): Promise<Target> {
  const device = await (await createTestDevice(app)).enroll();
  const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
  await app.db.knex('commands').where({ device_id: id }).delete();
  return { device, id };
}

async function queue({ id }: Target, attributes = {}, type = 'ProfileList'): Promise<string> {
  const reply = await adminApi(app).post('/commands', commandDocument(id, type, attributes));
  expect(reply.status).toBe(201);
  expect(reply.body.data.attributes.status).toBe('Queued');
  return reply.body.data.attributes.uuid;
}

function offered(reply: Reply): string | undefined {
  expect(reply.status).toBe(200);
  return commandIn(reply)?.uuid;
}

function command(uuid: string) {
  return app.db.knex('commands').where({ uuid }).first();
}

describe('the queue', () => {
  it('answers 200 with an empty body when it is empty', async () => {
    const { device } = await target();
    const reply = await device.idle();
    expect([reply.status, reply.headers.get('content-length')]).toEqual([200, '0']);
  });

  it('is sent by priority, then by order, and each report is answered with the next command', async () => {
    const to = await target();
    const [first, second] = [await queue(to), await queue(to)];
    const urgent = await queue(to, { priority: 9 });
    const { device } = to;
    expect(offered(await device.idle())).toBe(urgent);
    expect(offered(await device.report(urgent))).toBe(first);
    expect(offered(await device.report(first, 'Error'))).toBe(second);
    expect(offered(await device.report(second, 'CommandFormatError'))).toBeUndefined();
    const statuses = [urgent, first, second].map(async (uuid) => (await command(uuid)).status);
    expect(await Promise.all(statuses)).toEqual(['Acknowledged', 'Error', 'CommandFormatError']);
  });

  it('writes the command as Apple has it', async () => {
    const to = await target();
    const uuid = await queue(to, { parameters: { Identifier: 'com.example' } }, 'RemoveProfile');
    const reply = await to.device.idle();
    expect(reply.headers.get('content-type')).toBe('application/xml');
    expect(reply.headers.get('content-length')).toBe(String(reply.body.length));
    expect(reply.body.toString()).toContain('<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"');
    const { command: sent } = commandIn(reply) ?? {};
    expect({ ...sent }).toEqual({ RequestType: 'RemoveProfile', Identifier: 'com.example' });
    expect(offered(reply)).toBe(uuid);
  });

  it('accepts the CommandUUID in upper case', async () => {
    const to = await target();
    const uuid = await queue(to);
    await to.device.idle();
    await to.device.report(uuid.toUpperCase());
    expect((await command(uuid)).status).toBe('Acknowledged');
  });

  it('offers a NotNow command again in the next contact, not after the other answers', async () => {
    const to = await target();
    const { device } = to;
    const [first, second, third] = [await queue(to), await queue(to), await queue(to)];
    expect(offered(await device.idle())).toBe(first);
    expect(offered(await device.report(first, 'NotNow'))).toBe(second);
    expect(offered(await device.report(second, 'Acknowledged'))).toBe(third);
    expect(offered(await device.report(third, 'NotNow'))).toBeUndefined();
    expect(offered(await device.idle())).toBe(first);
    expect(offered(await device.report(first, 'Acknowledged'))).toBe(third);
    expect(offered(await device.report(third, 'NotNow'))).toBeUndefined();
    expect(offered(await device.idle())).toBe(third);
  });

  it('offers all that was put off in one contact, also after a command that goes first', async () => {
    const to = await target();
    const { device } = to;
    const put = [await queue(to), await queue(to), await queue(to)];
    let next = offered(await device.idle());
    for (const uuid of put) {
      expect(next).toBe(uuid);
      next = offered(await device.report(uuid, 'NotNow'));
    }
    expect(next).toBeUndefined();
    const urgent = await queue(to, { priority: 5 });
    expect(offered(await device.idle())).toBe(urgent);
    expect(offered(await device.report(urgent, 'Error'))).toBe(put[0]);
    // Of those that were put off before, none follows one that is put off again.
    expect(offered(await device.report(put[0] ?? '', 'NotNow'))).toBeUndefined();
    expect(offered(await device.idle())).toBe(put[0]);
    expect(offered(await device.report(put[0] ?? ''))).toBe(put[1]);
    // An answer that comes twice is still of this contact.
    expect(offered(await device.report(put[0] ?? ''))).toBe(put[1]);
    expect(offered(await device.report(put[1] ?? ''))).toBe(put[2]);
    expect(offered(await device.report(put[2] ?? ''))).toBeUndefined();
  });

  it('expires a command during a contact without offering NotNow commands again', async () => {
    const to = await target();
    const { device } = to;
    const [put, lost] = [await queue(to), await queue(to, { ttl: 1 })];
    expect(offered(await device.idle())).toBe(put);
    expect(offered(await device.report(put, 'NotNow'))).toBe(lost);
    const behind = await queue(to);
    expect(offered(await device.report(randomUUID(), 'Acknowledged'))).toBe(behind);
    expect(await command(lost)).toMatchObject({ status: 'Expired' });
    expect(offered(await device.report(behind))).toBeUndefined();
    expect(offered(await device.idle())).toBe(put);
  });

  it('sends a command without a report again, lets it expire, and continues', async () => {
    const to = await target();
    const { device } = to;
    const [lost, behind] = [await queue(to, { ttl: 2 }), await queue(to)];
    expect(offered(await device.idle())).toBe(lost);
    expect(offered(await device.idle())).toBe(lost);
    expect(offered(await device.idle())).toBe(behind);
    expect(await command(lost)).toMatchObject({ status: 'Expired', attempts: 2, ttl: 0 });
    expect(offered(await device.report(behind))).toBeUndefined();
  });

  it('a late answer to an expired command is still accepted', async () => {
    const to = await target();
    const lost = await queue(to, { ttl: 1 });
    await to.device.idle();
    await to.device.idle();
    expect((await command(lost)).status).toBe('Expired');
    expect((await to.device.report(lost)).status).toBe(200);
    expect(await command(lost)).toMatchObject({ status: 'Acknowledged', reason: null });
  });

  it('sends no command that is not due or has expired', async () => {
    const to = await target();
    const hour = 3_600_000;
    const later = await queue(to, { after: new Date(Date.now() + hour).toISOString() });
    const over = await queue(to, { expires_at: new Date(Date.now() + hour).toISOString() });
    const past = new Date(Date.now() - 1000);
    await app.db.knex('commands').where({ uuid: over }).update({ expires_at: past });
    expect(offered(await to.device.idle())).toBeUndefined();
    await app.db.knex('commands').where({ uuid: later }).update({ after: past });
    expect(offered(await to.device.idle())).toBe(later);
  });

  it('never sends a cancelled command', async () => {
    const to = await target();
    const uuid = await queue(to);
    const { id } = await command(uuid);
    const data = { type: 'commands', id, attributes: { status: 'Cancelled' } };
    expect((await adminApi(app).patch(`/commands/${id}`, { data })).status).toBe(200);
    expect(offered(await to.device.idle())).toBeUndefined();
  });

  it('sends no device the command of another, and accepts no report for it', async () => {
    const [one, other] = [await target(), await target()];
    const uuid = await queue(one);
    expect(offered(await other.device.idle())).toBeUndefined();
    expect((await other.device.report(uuid)).status).toBe(200);
    expect((await command(uuid)).status).toBe('Queued');
    const [kept] = await app.db.knex('unknown_reports').where({ device_id: other.id });
    expect(kept).toMatchObject({ command_uuid: uuid, status: 'Acknowledged' });
  });
});

describe('a replayed report', () => {
  it.each(['Acknowledged', 'Error', 'NotNow'])('changes nothing: %s', async (status) => {
    const to = await target();
    const uuid = await queue(to);
    await to.device.idle();
    await to.device.report(uuid, status);
    await app.waitForReports();
    const before = await dumpRows(app.db);
    expect((await to.device.report(uuid, status)).status).toBe(200);
    const { acknowledged_at: _time, ...after } = await command(uuid);
    const line = before.commands?.find((row) => row.includes(uuid)) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ status, ttl: after.ttl, attempts: after.attempts });
    const again = await dumpRows(app.db);
    for (const table of ['devices', 'unknown_reports', 'installed_profiles']) {
      expect(again[table]).toEqual(before[table]);
    }
  });

  it('does not turn a final answer into another', async () => {
    const to = await target();
    const uuid = await queue(to);
    await to.device.idle();
    await to.device.report(uuid, 'Error');
    const before = await dumpRows(app.db);
    await to.device.report(uuid, 'Acknowledged');
    await to.device.report(uuid, 'NotNow');
    expect(await dumpRows(app.db)).toEqual(before);
  });
});

describe('a report for a command that is not known', () => {
  async function unknownOf({ id }: Target) {
    return app.db.knex('unknown_reports').where({ device_id: id }).orderBy('id');
  }

  it.each([
    ['a UUID', '5F8E62A1-0000-4000-8000-00000000ABCD'],
    ['no UUID', 'made by another server'],
  ])('is answered with the next command and kept once: %s', async (_what, uuid) => {
    const to = await target();
    const next = await queue(to);
    expect(offered(await to.device.report(uuid, 'Acknowledged', { Secret: 'of it' }))).toBe(next);
    await to.device.report(uuid, 'Acknowledged', { Secret: 'of it' });
    const [kept, ...others] = await unknownOf(to);
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ command_uuid: uuid, status: 'Acknowledged', user_key: null });
    const opened = app.box.open(kept.sealed_report, `unknown_reports/${to.id}`);
    expect(opened.toString()).toContain('<string>of it</string>');
  });

  it('is kept at most twenty times, the newest ones', async () => {
    const to = await target();
    const uuids = Array.from({ length: 23 }, () => randomUUID());
    for (const uuid of uuids) await to.device.report(uuid, 'Error');
    const kept = (await unknownOf(to)).map(({ command_uuid }) => command_uuid);
    expect(kept).toEqual(uuids.slice(3));
  });
});
