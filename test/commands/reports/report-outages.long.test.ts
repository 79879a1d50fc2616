import { CommandQueue } from '../../../src/commands/queue.js';
import { ReportWorker } from '../../../src/commands/reports/report-worker.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { connectDatabase, type Database } from '../../../src/db/connection/database.js';
import { FileVaultKey } from '../../../src/pki/credentials/filevault-key.js';
import { buildPlist } from '../../../src/protocol/plist/plist.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import { duringOutage } from '../../helpers/outage.js';
import { capturingLogger, type LogLine } from '../../http/log-lines.js';

const INFO = 30;
const WARN = 40;
const ERROR = 50;
const WORKER = 'report-worker';

const box = new SecretBox(Buffer.alloc(32, 7));

let test: TestDatabase;
/** The worker's own. */
let own: Database;
let worker: ReportWorker;
let lines: LogLine[];

beforeAll(async () => {
  test = await createTestDatabase();
});
beforeEach(() => {
  const { connectionString } = test;
  own = connectDatabase({ connectionString, applicationName: WORKER, poolSize: 4 });
  worker = createWorker();
});
afterEach(async () => {
  await worker.drain();
  await own.close();
  await test.db.knex.raw(`drop trigger if exists refuse on installed_applications;
    truncate devices restart identity cascade`);
});
afterAll(() => test.drop());

function createWorker(): ReportWorker {
  const captured = capturingLogger();
  lines = captured.lines;
  const queue = new CommandQueue(box);
  return new ReportWorker({
    db: own,
    box,
    queue,
    recipient: new FileVaultKey(box),
    logger: captured.logger,
    sweepMs: 50,
    readInThread: () => Promise.reject(new Error('no report here is large')),
  });
}

interface StoredReport {
  id: number;
  deviceId: number;
}

async function storeDevices(count: number): Promise<number[]> {
  const rows = Array.from({ length: count }, () => ({ udid: crypto.randomUUID() }));
  const stored = await test.db.knex('devices').insert(rows).returning('id');
  return stored.map(({ id }) => id);
}

/** A list of applications in each of them, the newer the later. */
async function storeReports(deviceIds: number[], perDevice = 1): Promise<StoredReport[]> {
  const rows = Array.from({ length: perDevice }, (_, at) => {
    const result = buildPlist({ InstalledApplicationList: [{ Name: `version ${at}` }] });
    const answered = { status: 'Acknowledged', needs_handling: true, result };
    const command = {
      request_type: 'InstalledApplicationList',
      payload: buildPlist({ Command: {} }),
    };
    return deviceIds.map((device_id) => {
      return { ...command, ...answered, device_id, uuid: crypto.randomUUID() };
    });
  }).flat();
  const stored = await test.db.knex('commands').insert(rows).returning(['id', 'device_id']);
  return stored.map(({ id, device_id }) => ({ id, deviceId: device_id }));
}

/** Statements that store what `version` names fail like this, as long as `refusals` lasts. */
async function refuse(sqlstate: string, { version = '%', refusals = 1_000_000 } = {}) {
  await test.db.knex.raw(`
    drop sequence if exists refusals;
    create sequence refusals;
    create or replace function refuse() returns trigger language plpgsql as $$
    begin
      if new.name like '${version}' and nextval('refusals') <= ${refusals} then
        raise exception 'some words' using errcode = '${sqlstate}';
      end if;
      return new;
    end $$;
    create or replace trigger refuse before insert on installed_applications
      for each row execute function refuse()`);
}

async function refused(): Promise<number> {
  const { rows } = await test.db.knex.raw('select last_value as n, is_called from refusals');
  return rows[0].is_called ? rows[0].n : 0;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('it never came to pass');
}

async function open(): Promise<number> {
  const { rows } = await test.db.knex.raw(
    'select count(*)::int as n from commands where needs_handling',
  );
  return rows[0].n;
}

function applications(): Promise<string[]> {
  return test.db.knex('installed_applications').orderBy('device_id').pluck('name');
}

function reasons(): Promise<(string | null)[]> {
  return test.db.knex('commands').distinct('reason').pluck('reason');
}

function messagesAt(level: number): string[] {
  return lines.filter((line) => line.level === level).map(({ msg }) => msg);
}

const GIVEN_UP = 'the answer could not be read; see the log';
const SKIPPED = 'the answer could not be read yet; see the log';

describe('a report that cannot be stored', () => {
  it.each(['22003', '22P02', '23514'])('for its values (%s) is given up at once', async (code) => {
    await refuse(code);
    const [report] = await storeReports(await storeDevices(1));
    if (report !== undefined) worker.submit(report);
    await until(async () => (await open()) === 0);
    expect(await reasons()).toEqual([GIVEN_UP]);
    expect(await refused()).toBe(1);
    expect(messagesAt(ERROR)).toEqual(['a report could not be read']);
  });

  it.each(['XX000', '23505', '25P02'])(
    'for reasons unknown (%s) is tried five times, and then skipped until the next start',
    async (code) => {
      await refuse(code);
      const [device = 0, other = 0] = await storeDevices(2);
      await storeReports([device]);
      worker.start();
      await until(async () => (await refused()) >= 5);
      await storeReports([other]);
      await until(async () => (await refused()) >= 10);
      await until(async () => messagesAt(ERROR).length === 2);
      await worker.drain();
      expect([await open(), await reasons(), await refused()]).toEqual([2, [SKIPPED], 10]);
      const message = 'a report could not be handled; it is tried again at the next start';
      expect(messagesAt(ERROR)).toEqual([message, message]);

      await refuse(code, { refusals: 2 });
      worker = createWorker();
      worker.start();
      await until(async () => (await open()) === 0);
      expect([await reasons(), await applications()]).toEqual([[null], Array(2).fill('version 0')]);
      expect(messagesAt(ERROR)).toEqual([]);
    },
  );

  it.each(['57P03', '53300', '55P03'])(
    'because the database cannot take it now (%s) is tried until it can',
    async (code) => {
      await refuse(code, { refusals: 8 });
      await storeReports(await storeDevices(1));
      worker.start();
      await until(async () => (await open()) === 0);
      expect([await reasons(), await applications()]).toEqual([[null], ['version 0']]);
      expect(await refused()).toBe(9);
      expect([messagesAt(INFO), messagesAt(WARN), messagesAt(ERROR)]).toEqual([
        [],
        ['reports wait for the database; they are handled when it is back'],
        [],
      ]);
    },
  );

  it('is not overtaken by a later one of the same device', async () => {
    await refuse('57P03', { version: 'version 0', refusals: 2 });
    const [device = 0, other = 0] = await storeDevices(2);
    for (const report of await storeReports([device, other], 2)) worker.submit(report);
    await worker.drain();
    // Nobody has looked for them again yet.
    expect([await open(), await applications()]).toEqual([4, []]);
    worker.start();
    await until(async () => (await open()) === 0);
    expect(await applications()).toEqual(['version 1', 'version 1']);
  });
});

describe('the loss of the database', () => {
  it('for a while delays reports, in few lines of the log', async () => {
    const reports = await storeReports(await storeDevices(20), 2);
    await duringOutage(test, async () => {
      worker.start();
      for (const report of reports) worker.submit(report);
      await until(async () => messagesAt(20).length > 10);
    });
    await until(async () => (await open()) === 0);
    expect([await reasons(), await applications()]).toEqual([[null], Array(20).fill('version 1')]);
    expect(messagesAt(WARN)).toHaveLength(2);
    expect(messagesAt(WARN)).toEqual(
      expect.arrayContaining([
        'reports wait for the database; they are handled when it is back',
        'the sweep of stored reports failed; it will run again',
      ]),
    );
    expect(messagesAt(ERROR)).toEqual([]);
  });

  it('again and again, in the middle of the work, loses no report', async () => {
    const reports = await storeReports(await storeDevices(60), 10);
    worker.start();
    for (const report of reports) worker.submit(report);
    let losses = 0;
    const lose = async () => {
      const { rows } = await test.db.knex.raw(
        `select count(pg_terminate_backend(pid))::int as n from pg_stat_activity
         where datname = current_database() and application_name = ? and state <> 'idle'`,
        [WORKER],
      );
      losses += rows[0].n;
      await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
    };
    for (const end = Date.now() + 3_000; Date.now() < end && (await open()) > 0; ) await lose();
    await until(async () => (await open()) === 0);
    expect(losses).toBeGreaterThan(10);
    expect([await reasons(), await applications()]).toEqual([[null], Array(60).fill('version 9')]);
    expect(messagesAt(ERROR)).toEqual([]);
  });
});
