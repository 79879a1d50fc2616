import { type Fixture, openFixture } from '../../bench/soak/fixture.js';
import { jobsKill, sharedJobs } from '../../bench/soak/job-scenarios.js';
import {
  databaseRestart,
  pushOutage,
  sharedWork,
  workerKill,
} from '../../bench/soak/push-scenarios.js';
import type { ScenarioResult, Size } from '../../bench/soak/scenario.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';

const DEVICES = 200;
const SMALL: Size = {
  jobs: 200,
  outageMs: 3_000,
  answerDelayMs: 100,
  skipsWaiting: true,
  silentMs: 1_000,
  crashesDatabase: false,
};

let database: TestDatabase;
let fixture: Fixture;

beforeAll(async () => {
  database = await createTestDatabase();
  fixture = await openFixture({ databaseUrl: database.connectionString, devices: DEVICES });
}, 120_000);
afterAll(async () => {
  await fixture.close();
  await database.drop();
});

function expectKept({ broken, figures }: ScenarioResult): ScenarioResult['figures'] {
  expect(broken).toEqual([]);
  return figures;
}

describe('each device with a waiting command is pushed', () => {
  it('once, when two processes share the work', async () => {
    const { pushes, surplus } = expectKept(await sharedWork(fixture));
    expect({ pushes, surplus }).toEqual({ pushes: DEVICES, surplus: 0 });
  }, 120_000);

  it('although a process that pushes is killed in the middle of it', async () => {
    const { surplus, pushedAtKill } = expectKept(await workerKill(fixture, SMALL));
    expect(pushedAtKill).toBeLessThan(DEVICES);
    expect(surplus).toBeLessThan(DEVICES);
  }, 120_000);

  it('although the database breaks all connections, again and again', async () => {
    const { terminated, accepted } = expectKept(await databaseRestart(fixture, SMALL));
    expect(terminated).toBeGreaterThan(2);
    expect(accepted).toBe(DEVICES);
  }, 120_000);

  it('although the push service is away for a while', async () => {
    const { pushedBefore, pushedMeanwhile } = expectKept(await pushOutage(fixture, SMALL));
    expect(pushedBefore).toBeLessThan(DEVICES);
    expect(pushedMeanwhile).toBe(0);
  }, 120_000);
});

describe('each job is run', () => {
  it('once, when two processes share them', async () => {
    expect(expectKept(await sharedJobs(fixture, SMALL)).runs).toBe(SMALL.jobs);
  }, 120_000);

  it('although one of the processes is killed in the middle of it', async () => {
    expect(expectKept(await jobsKill(fixture, SMALL)).runs).toBeGreaterThanOrEqual(SMALL.jobs);
  }, 120_000);
});
