import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { addProfile } from '../assignment-fixture.js';
import { soak, startRollout, stateOf, uploadVersion } from './rollout-fixture.js';

/** As the clock does each minute. */
async function runTask({ db }: TestApp): Promise<void> {
  await db.knex.transaction((trx) =>
    createJobQueue().add(trx, { name: 'rollouts.advance' }, {}, { key: 'now' }),
  );
}

async function reached(app: TestApp, id: number, wanted: object): Promise<object> {
  let state = await stateOf(adminApi(app), id);
  for (let attempt = 0; attempt < 50; attempt += 1) {
    state = await stateOf(adminApi(app), id);
    if (Object.entries(wanted).every(([name, value]) => Reflect.get(state, name) === value)) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
    await runTask(app);
  }
  return state;
}

describe('a rollout', () => {
  it('continues in the next process after the last one has stopped', async () => {
    const first = await startApp();
    const { id: profile, identifier } = await addProfile(first);
    await uploadVersion(first, { identifier, ssid: 'Guests', query: '?activate=false' });
    const stages = [50, 75, 100].map((percent) => ({ percent, soak_minutes: 60 }));
    const id = await startRollout(adminApi(first), profile, { stages });
    await soak(first, id, 60);
    await runTask(first);
    const second = { state: 'running', stage: 2 };
    expect(await reached(first, id, second)).toMatchObject(second);
    await first.halt();
    const next = await startApp({ database: first.database });
    try {
      await runTask(next);
      expect(await stateOf(adminApi(next), id)).toMatchObject(second);
      await soak(next, id, 60);
      expect(await reached(next, id, { stage: 3 })).toMatchObject({ state: 'running', stage: 3 });
      await soak(next, id, 60);
      const end = { state: 'finished', stage: 3 };
      expect(await reached(next, id, end)).toMatchObject(end);
    } finally {
      await next.stop();
    }
  }, 60_000);
});
