import { hash } from 'node:crypto';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../../src/lab/devices/simulated-device.js';
import { type DeviceSession, enroll } from '../../../src/lab/enrollment/enroll.js';
import { fetchProfile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { KeyPool } from '../../../src/lab/enrollment/key-pool.js';
import { poll } from '../../../src/lab/fleet/poll.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { DeviceProxy } from '../../e2e/device-proxy.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';

const http = new HttpClient({ retryMs: 0, signal: new AbortController().signal });
const keys = new KeyPool(2);
let app: TestApp;
let proxy: DeviceProxy;
let url: string;

beforeAll(async () => {
  const ports: number[] = [];
  proxy = new DeviceProxy(ports);
  url = await proxy.listen();
  app = await startApp({ env: { PUBLIC_URL: url }, isSweeping: false });
  ports.push(Number(new URL(app.url).port));
});
afterAll(async () => {
  http.close();
  proxy.close();
  await app.stop();
});

/** Enrolled, with nothing left in its queue. */
async function enrolled(platform: LabPlatform, seed: string) {
  const device = createSimulatedDevice({ platform, random: new Random(seed) });
  const session = await enroll(device, { http, keys, profile: await fetchProfile(http, url) });
  await answerAll(session);
  await app.waitForReports();
  await answerAll(session);
  const { id } = await app.db.knex('devices').where({ udid: device.identity.udid }).first('id');
  return { session, id: Number(id) };
}

/** What it answered to what, in order. */
async function answerAll(session: DeviceSession): Promise<string[]> {
  const answers: string[] = [];
  const onAnswer = (status: string, type: string) => answers.push(`${type} ${status}`);
  await poll(session, { notNow: 0, onAnswer });
  return answers;
}

function renew(id: number) {
  return adminApi(app).post(`/devices/${id}/renew_identity`).expect(201);
}

function fingerprintOf({ identity }: DeviceSession): Buffer {
  return hash('sha256', identity.certificate, 'buffer');
}

async function pinsOf(id: number) {
  return await app.db
    .knex('device_identities')
    .where({ device_id: id })
    .orderBy('created_at')
    .select('fingerprint', 'state');
}

describe('a simulated device that gets its enrollment profile again', () => {
  it.each<[LabPlatform, string[]]>([
    ['iOS', ['Idle', 'Authenticate', 'TokenUpdate', 'Acknowledged']],
    ['macOS', ['Idle', 'Acknowledged']],
  ])('changes its identity as %s does', async (platform, kinds) => {
    const { session, id } = await enrolled(platform, `changes ${platform}`);
    const former = fingerprintOf(session);
    const certificates = session.device.certificates.length;
    const row = await app.db.knex('devices').where({ id }).first();
    await renew(id);
    proxy.exchanges.length = 0;
    expect(await answerAll(session)).toEqual(['InstallProfile Acknowledged']);
    expect(proxy.exchanges.map(({ kind, answer }) => [kind, answer])).toEqual(
      kinds.map((kind) => [kind, 200]),
    );
    const fingerprint = fingerprintOf(session);
    expect(fingerprint).not.toEqual(former);
    expect(await pinsOf(id)).toEqual([
      { fingerprint: former, state: 'superseded' },
      { fingerprint, state: 'active' },
    ]);
    const { enrollment_number, enrolled_at } = await app.db.knex('devices').where({ id }).first();
    expect({ enrollment_number, enrolled_at }).toEqual({
      enrollment_number: row.enrollment_number,
      enrolled_at: row.enrolled_at,
    });
    expect(session.device.certificates).toHaveLength(certificates);
    expect(session.device.certificates.map(({ der }) => der)).toContain(
      session.identity.certificate,
    );
    expect(session.device.profiles).toHaveLength(1);
    expect(await answerAll(session)).toEqual([]);
  });

  it('reports an error and keeps its identity when the CA refuses', async () => {
    const { session, id } = await enrolled('iOS', 'refused');
    await renew(id);
    await app.db.knex('devices').where({ id }).increment('enrollment_number');
    const former = session.identity;
    expect(await answerAll(session)).toEqual(['InstallProfile Error']);
    expect(session.identity).toBe(former);
    expect(await pinsOf(id)).toEqual([{ fingerprint: fingerprintOf(session), state: 'active' }]);
    const [command] = await app.db
      .knex('commands')
      .where({ device_id: id, request_type: 'InstallProfile' });
    expect(command.error_chain[0]).toMatchObject({ ErrorDomain: 'MCSCEPErrorDomain' });
  });

  it('refuses another topic than the one it enrolled under', async () => {
    const { session, id } = await enrolled('iOS', 'topic');
    await app.db.knex('devices').where({ id }).update({ topic: 'com.apple.mgmt.other' });
    await renew(id);
    expect(await answerAll(session)).toEqual(['InstallProfile Error']);
    expect(await pinsOf(id)).toHaveLength(1);
  });

  it('renews once more after that', async () => {
    const { session, id } = await enrolled('macOS', 'once more');
    for (const _ of [1, 2]) {
      await renew(id);
      expect(await answerAll(session)).toEqual(['InstallProfile Acknowledged']);
    }
    const states = (await pinsOf(id)).map(({ state }) => state);
    expect(states).toEqual(['superseded', 'superseded', 'active']);
  });
});
