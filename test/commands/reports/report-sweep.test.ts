import { FailedTries } from '../../../src/commands/reports/report-failures.js';
import { ReportSweep } from '../../../src/commands/reports/report-sweep.js';
import { WaitingReports } from '../../../src/commands/reports/waiting-reports.js';
import { ReportSetup } from './report-setup.js';

const MAX_WAITING = 10_000;

let setup: ReportSetup;
let waiting: WaitingReports;
let sweep: ReportSweep;
let pagesFound: number;

beforeAll(async () => {
  setup = await ReportSetup.create();
});
beforeEach(() => {
  waiting = new WaitingReports();
  pagesFound = 0;
  sweep = new ReportSweep({
    db: setup.test.db,
    waiting,
    failedTries: new FailedTries(),
    warn: () => false,
    sweepMs: 3_600_000,
    onFound: () => {
      pagesFound += 1;
    },
  });
});
afterEach(async () => {
  await sweep.stop();
  await setup.clear();
});
afterAll(() => setup.test.drop());

/** One sweep, from its beginning to its end. */
async function sweepOnce(): Promise<void> {
  sweep.start();
  await sweep.stop();
}

/** All that waits, in the order in which it is claimed. */
function claimAll(): { id: number; deviceId: number }[] {
  const claimed: { id: number; deviceId: number }[] = [];
  for (let some = waiting.take(1_000); some.length > 0; some = waiting.take(1_000)) {
    for (const report of some) waiting.release(report);
    claimed.push(...some);
  }
  return claimed;
}

it('a sweep finds all stored reports, those of a device in their order', async () => {
  const devices = await setup.storeDevices(300);
  const ids = await setup.storeReports(
    [1, 2, 3, 4].flatMap(() => devices.map((deviceId) => ({ deviceId }))),
  );
  await sweepOnce();
  expect(pagesFound).toBe(3);
  const claimed = claimAll();
  expect(claimed.map(({ id }) => id).sort((a, b) => a - b)).toEqual(ids);
  for (const device of devices.slice(0, 20)) {
    const own = claimed.filter(({ deviceId }) => deviceId === device).map(({ id }) => id);
    expect(own).toEqual([...own].sort((a, b) => a - b));
    expect(own).toHaveLength(4);
  }
});

it('a device whose report was skipped is handled after a sweep that began later', async () => {
  const [deviceId = 0] = await setup.storeDevices(1);
  const [first = 0, second = 0] = await setup.storeReports([{ deviceId }, { deviceId }]);
  sweep.hold(deviceId);
  expect(sweep.admits({ id: second, deviceId })).toBe(false);
  sweep.start();
  // The sweep may have read the reports by now.
  sweep.hold(deviceId);
  await sweep.stop();
  expect(claimAll()).toEqual([]);
  expect(sweep.admits({ id: second, deviceId })).toBe(false);
  await sweepOnce();
  expect(claimAll()).toEqual([first, second].map((id) => ({ id, deviceId })));
  expect(sweep.admits({ id: second, deviceId })).toBe(true);
});

it('reports beyond the 10,000 that wait stay in the database until there is room', async () => {
  const [deviceId = 0] = await setup.storeDevices(1);
  const [first = 0, second = 0] = await setup.storeReports([{ deviceId }, { deviceId }]);
  for (let at = 1; at <= MAX_WAITING; at += 1) waiting.add({ id: -at, deviceId: -at });
  expect(sweep.admits({ id: first, deviceId })).toBe(false);
  sweep.start();
  await new Promise((resolve) => setImmediate(resolve));
  sweep.continueIfBehind();
  expect([waiting.size, pagesFound]).toEqual([MAX_WAITING, 0]);
  claimAll();
  // There is room, but the second must not overtake the first.
  expect(sweep.admits({ id: second, deviceId })).toBe(false);
  sweep.continueIfBehind();
  await sweep.stop();
  expect(claimAll()).toEqual([first, second].map((id) => ({ id, deviceId })));
  expect(sweep.admits({ id: second, deviceId })).toBe(true);
});

describe('waiting reports', () => {
  it('are claimed once, one of each device at a time', () => {
    for (const id of [1, 2, 3]) waiting.add({ id, deviceId: 7 });
    waiting.add({ id: 4, deviceId: 8 });
    waiting.add({ id: 4, deviceId: 8 });
    expect(waiting.take(10)).toEqual([
      { id: 1, deviceId: 7 },
      { id: 4, deviceId: 8 },
    ]);
    expect(waiting.take(10)).toEqual([]);
    waiting.release({ id: 1, deviceId: 7 });
    expect([waiting.take(10), waiting.size]).toEqual([[{ id: 2, deviceId: 7 }], 3]);
  });

  it('that are returned come before the others of their device', () => {
    for (const id of [1, 2]) waiting.add({ id, deviceId: 7 });
    const [first] = waiting.take(1);
    if (first !== undefined) waiting.putBack(first);
    expect([waiting.take(1), waiting.size]).toEqual([[{ id: 1, deviceId: 7 }], 2]);
  });

  it('of a device are removed without the claimed one', () => {
    for (const id of [1, 2]) waiting.add({ id, deviceId: 7 });
    const [first] = waiting.take(1);
    waiting.removeOf(7);
    if (first !== undefined) waiting.release(first);
    expect([waiting.take(1), waiting.size]).toEqual([[], 0]);
  });
});
