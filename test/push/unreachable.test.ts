import { eventually, type PushFixture, startPushFixture } from './push-fixture.js';

let fixture: PushFixture;

beforeAll(async () => {
  fixture = await startPushFixture();
  await fixture.addCertificate();
});
afterEach(() => fixture.reset());
afterAll(() => fixture.stop());

const limits = { firstBackOff: 50, maxBackOff: 200 };
const WARN = 40;

function away(): void {
  fixture.standIn.refuseConnections('connection');
  fixture.standIn.destroyConnections();
}

describe('while the push service cannot be reached', () => {
  it('devices keep their place in the queue, and the log says so once', async () => {
    const targets = await fixture.devices(200);
    away();
    fixture.start({ limits });
    for (const target of targets) await fixture.queueCommand(target);
    await eventually(async () => {
      const [first] = targets;
      expect(first && (await fixture.deviceRow(first)).last_push_result).toBe('unreachable');
    });
    const results = await fixture.db
      .knex('devices')
      .whereIn(
        'id',
        targets.map(({ id }) => id),
      )
      .select('push_state', 'failed_push_count', 'last_push_at');
    const untouched = { push_state: 'ok', failed_push_count: 0, last_push_at: null };
    expect(results).toEqual(targets.map(() => untouched));
    expect(await fixture.db.knex('device_pushes').whereNot({ attempts: 0 })).toEqual([]);
    fixture.standIn.refuseConnections(null);
    await eventually(() => {
      expect(targets.filter((target) => fixture.accepted(target) === 0)).toEqual([]);
    }, 20_000);
    const about = (level: number, words: RegExp) =>
      fixture.logLines.filter((line) => line.level === level && words.test(line.msg));
    expect(about(WARN, /can be reached/)).toHaveLength(1);
    expect(about(30, /can be reached again/)).toHaveLength(1);
  });

  it('the service reports why and since when, and notifies when the failure begins and ends', async () => {
    const target = await fixture.device();
    away();
    const { service } = fixture.start({ limits });
    const notified: boolean[] = [];
    service.onFailureChange(() => notified.push(service.failure !== null));
    expect(service.failure).toBeNull();
    const before = Date.now();
    await fixture.queueCommand(target);
    await eventually(() => expect(notified).toEqual([true]));
    const { host } = new URL(fixture.standIn.url);
    const failure = service.failure;
    expect(failure?.why.startsWith(`the push service at ${host} `)).toBe(true);
    const since = failure?.since.getTime() ?? 0;
    expect(since).toBeGreaterThanOrEqual(before);
    expect(since).toBeLessThanOrEqual(Date.now());
    expect(JSON.stringify(failure)).not.toContain(target.token);
    expect(JSON.stringify(failure)).not.toContain(target.pushMagic);
    fixture.standIn.refuseConnections(null);
    await eventually(() => expect(notified).toEqual([true, false]));
    expect(service.failure).toBeNull();
  });

  it('pushes continue after a connection is lost', async () => {
    const target = await fixture.device();
    fixture.start({ limits });
    for (let time = 1; time <= 3; time += 1) {
      await fixture.queueCommand(target);
      await eventually(() => expect(fixture.accepted(target)).toBeGreaterThanOrEqual(time));
      fixture.standIn.destroyConnections();
    }
  });

  it('a process that stops leaves nothing claimed', async () => {
    const targets = await fixture.devices(20);
    for (const { token } of targets)
      fixture.standIn.addAnswer({ token, status: 200, delayMs: 5_000 });
    const { service } = fixture.start({ limits: { drainTimeout: 200 } });
    for (const target of targets) await fixture.queueCommand(target);
    await eventually(async () => {
      expect(await fixture.db.knex('device_pushes').whereNull('claimed_at')).toEqual([]);
    });
    await service.stop();
    const rows = await fixture.db.knex('device_pushes').where({ attempts: 0, claimed_at: null });
    expect(rows).toHaveLength(20);
    const [device] = targets;
    expect(device && (await fixture.deviceRow(device))).toMatchObject({ last_push_result: null });
  });
});
