import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { createBackupScheduleTask } from '../../../src/backup/server/backup-schedule.js';
import { createBackupTask } from '../../../src/backup/server/backup-task.js';
import { Backups } from '../../../src/backup/server/backups.js';
import { deleteOldBackups } from '../../../src/backup/server/kept-backups.js';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { backupInProcess } from '../../../src/threads/backup-in-process.js';
import { MASTER_KEY } from '../../helpers/app.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from '../../jobs/tasks/run-task.js';
import { verify } from '../backup-files.js';

const HOUR_MS = 3_600_000;

let test: TestDatabase;
let directory: string;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(async () => {
  await test?.drop();
  removeTemporaryDirectories();
});
beforeEach(async () => {
  directory = join(temporaryDirectory(), 'backups');
  await test.db.knex.raw('truncate backups, graphile_worker._private_jobs, audit_events');
});

function tasks(backupDir = directory) {
  const { db } = test;
  const { logger, lines } = capturingLogger();
  const settings = {
    ...{ backupDir, backupEvery: 6 * HOUR_MS, backupKeep: 3, backupPassphrase: undefined },
  };
  const backups = new Backups(settings, createJobQueue());
  const writeBackup = backupInProcess(db, new SecretBox(MASTER_KEY));
  const task = createBackupTask({ db, logger, settings, writeBackup });
  return {
    lines,
    tick: () => runTask(createBackupScheduleTask({ db, logger, settings, backups })),
    run: async (id: number, signal = new AbortController().signal) =>
      await task.run({ id }, { jobId: 1, attempt: 1, signal }),
  };
}

async function rows() {
  return await test.db.knex('backups').orderBy('id');
}

/** As if all that has happened had happened earlier. */
const age = (ms: number) =>
  test.db.knex.raw(
    `update backups set created_at = created_at - :ms * interval '1 ms',
       started_at = started_at - :ms * interval '1 ms', finished_at = finished_at - :ms * interval '1 ms'`,
    { ms },
  );

describe('the schedule of backups', () => {
  it('tries again a quarter of an hour after a failure, which names the cause', async () => {
    writeFileSync(directory, 'a file where the directory should be');
    const { tick, run, lines } = tasks();
    await tick();
    const [first] = await rows();
    await run(first.id);
    await test.db.knex.raw('delete from graphile_worker._private_jobs');
    const [failed] = await rows();
    expect([failed.state, failed.error]).toEqual([
      'failed',
      expect.stringContaining(`${directory} (BACKUP_DIR) cannot be made: `),
    ]);
    expect(lines.map(({ msg }) => msg)).toEqual(['a backup has failed']);
    await tick();
    await age(14 * 60_000);
    await tick();
    expect(await rows()).toHaveLength(1);
    await age(2 * 60_000);
    await tick();
    expect(await rows()).toHaveLength(2);
  });

  it('makes one although `muster backup` has made another elsewhere', async () => {
    const { tick } = tasks();
    await test.db.knex('backups').insert({
      ...{ source: 'command', state: 'finished', created_by: 'cli', is_encrypted: false },
      ...{ file: '/elsewhere/a.backup', created_at: new Date(), started_at: new Date() },
      finished_at: new Date(),
    });
    await tick();
    expect(await rows()).toMatchObject([{ source: 'command' }, { state: 'waiting' }]);
  });

  it('replaces a backup whose file is missing, and logs that', async () => {
    const { tick, run, lines } = tasks();
    await tick();
    const [first] = await rows();
    await run(first.id);
    await test.db.knex.raw('delete from graphile_worker._private_jobs');
    await age(20 * 60_000);
    await tick();
    expect(await rows()).toMatchObject([{ state: 'finished' }]);
    rmSync(first.file);
    await tick();
    expect(await rows()).toMatchObject([
      {
        state: 'failed',
        error: 'its file is gone: somebody deleted or moved it, or another disk is mounted',
      },
      { state: 'waiting' },
    ]);
    expect(lines.map(({ msg }) => msg)).toContain('the file of a backup is gone');
  });

  it('marks a backup as failed that no job makes any more', async () => {
    const { tick, lines } = tasks();
    await tick();
    await test.db.knex.raw('delete from graphile_worker._private_jobs');
    await tick();
    const [abandoned] = await rows();
    expect([abandoned.state, abandoned.error]).toEqual([
      'failed',
      'the processes that made it ended in the middle of it',
    ]);
    expect(lines.map(({ msg }) => msg)).toEqual(['a backup was never finished']);
  });
});

describe('old backups that cannot be deleted', () => {
  it('are logged, and the new one is good', async () => {
    const { tick, run, lines } = tasks();
    await tick();
    const [{ id, file }] = await rows();
    mkdirSync(directory);
    const old = [1, 2, 3, 4].map((day) => join(directory, `muster-2026010${day}T000000Z.backup`));
    for (const name of old) writeFileSync(name, '');
    const real = fs.unlink;
    const unlink = jest.spyOn(fs, 'unlink').mockImplementation(async (name) => {
      if (name === old[0]) throw new Error('operation not permitted');
      await real(name);
    });
    try {
      await run(id);
    } finally {
      unlink.mockRestore();
    }
    expect(await rows()).toMatchObject([{ state: 'finished', error: null }]);
    expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([
      ...[old[0], old[2], old[3]],
      file,
    ]);
    expect(lines.map(({ msg, file: of }) => [msg, of])).toEqual([
      ['a backup was made', file],
      [
        'an old backup could not be deleted: delete it, or let the account of the server do so',
        old[0],
      ],
    ]);
  });
});

describe('a backup whose process is stopped in the middle of it', () => {
  it('leaves no file, and is made when its job runs again', async () => {
    const { tick, run } = tasks();
    await tick();
    const [{ id, file }] = await rows();
    const controller = new AbortController();
    const stopped = run(id, controller.signal);
    controller.abort(new Error('the server stops'));
    await expect(stopped).rejects.toThrow('the server stops');
    expect(readdirSync(directory)).toEqual([]);
    expect(await rows()).toMatchObject([{ state: 'running' }]);
    // As of a process that was killed.
    writeFileSync(`${file}.0123abcd.partial`, 'half of it');
    await run(id);
    expect(await rows()).toMatchObject([{ state: 'finished' }]);
    expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([file]);
    await verify(file);
  });
});

describe('a part of a backup that a killed process has left', () => {
  it('is deleted after a day, even if a process still writes it', async () => {
    mkdirSync(directory);
    const [old, recent] = [5, 6].map(
      (day) => `muster-2026110${day}T030000Z.backup.0123abcd.partial`,
    );
    for (const [name, hours] of [[old, 25] as const, [recent, 1] as const]) {
      const partial = join(directory, String(name));
      writeFileSync(partial, '');
      const time = new Date(Date.now() - hours * HOUR_MS);
      utimesSync(partial, time, time);
    }
    expect(await deleteOldBackups(directory, 3)).toEqual({ deleted: [], kept: [] });
    expect(readdirSync(directory)).toEqual([recent]);
  });
});
