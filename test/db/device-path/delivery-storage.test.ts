import { adminApi, commandDocument, startApp, type TestApp } from '../../helpers/app.js';
import { createTestDevice } from '../../helpers/device.js';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

describe('the delivery of a command', () => {
  it('writes to no index', async () => {
    const device = await (await createTestDevice(app)).enroll();
    const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
    await app.db.knex('commands').where({ device_id: id }).delete();
    const { status } = await adminApi(app).post('/commands', commandDocument(id, 'ProfileList'));
    expect(status).toBe(201);
    const before = await updatesWhen(({ all }, last) => all === last?.all);
    await device.idle();
    const after = await updatesWhen(({ all }) => all > before.all);
    expect({ all: after.all - before.all, hot: after.hot - before.hot }).toEqual({
      all: 1,
      hot: 1,
    });
  });
});

/** Those of the device path's connections, which are at most five here. */
async function flushStatistics(): Promise<void> {
  const flush = 'select pg_stat_force_next_flush(), pg_sleep(0.05)';
  await Promise.all(Array.from({ length: 5 }, () => app.db.pool.query(flush)));
}

interface Updates {
  all: number;
  hot: number;
}

/** A busy machine may take the same connection twice to flush. */
async function updatesWhen(
  isComplete: (now: Updates, last: Updates | undefined) => boolean,
): Promise<Updates> {
  let last: Updates | undefined;
  for (let attempt = 0; attempt < 50; attempt += 1) {
    await flushStatistics();
    const now = await updates();
    if (isComplete(now, last)) return now;
    last = now;
  }
  throw new Error('the statistics are not flushed');
}

async function updates(): Promise<Updates> {
  return await app.db
    .knex('pg_stat_user_tables')
    .where({ relname: 'commands' })
    .first({ all: 'n_tup_upd', hot: 'n_tup_hot_upd' });
}
