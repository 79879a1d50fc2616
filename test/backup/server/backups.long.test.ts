import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBackupScheduleTask } from '../../../src/backup/server/backup-schedule.js';
import { Backups } from '../../../src/backup/server/backups.js';
import { deleteOldBackups } from '../../../src/backup/server/kept-backups.js';
import { createJobQueue } from '../../../src/jobs/job-queue.js';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { capturingLogger } from '../../http/log-lines.js';
import { runTask } from '../../jobs/tasks/run-task.js';
import { verify } from '../backup-files.js';

const directory = temporaryDirectory();
let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { BACKUP_DIR: directory } });
});
afterAll(async () => {
  await app.stop();
  removeTemporaryDirectories();
});

async function untilOver(id: number, of = app) {
  for (let attempt = 0; attempt < 800; attempt += 1) {
    const { body } = await adminApi(of).get(`/backups/${id}`);
    const { state } = body.data.attributes;
    if (state !== 'waiting' && state !== 'running') return body.data.attributes;
    await sleep(100);
  }
  throw new Error('the backup is never over');
}

describe('POST /backups', () => {
  it('makes a backup that can be restored, and shows its progress', async () => {
    const answer = await adminApi(app).post('/backups');
    expect(answer.status).toBe(202);
    const { id, attributes } = answer.body.data;
    expect(answer.headers.location).toBe(`/api/v1/backups/${id}`);
    expect(attributes).toMatchObject({ state: 'waiting', source: 'request', is_encrypted: false });
    const again = await adminApi(app).post('/backups');
    expect([again.status, again.body.errors[0].detail]).toEqual([
      409,
      'a backup is under way already',
    ]);
    const over = await untilOver(id);
    expect(over).toMatchObject({ state: 'finished', error: null });
    expect(over.tables_done).toBe(over.tables_total);
    expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([over.file]);
    const { manifest } = await verify(over.file);
    expect(manifest.tables).toHaveLength(over.tables_total);
    expect(manifest.tables.reduce((sum, { rows }) => sum + rows, 0)).toBe(over.row_count);
    const audited = await app.db.knex('audit_events').where({ action: 'backups.create' });
    expect(audited).toMatchObject([{ target_id: String(id), details: { file: over.file } }]);
  });

  it.each<[object, string]>([
    [[], ''],
    [{ data: { type: 'devices' } }, '/data/type'],
    [{ file: '/tmp/elsewhere' }, '/file'],
    [
      { data: { type: 'backups', attributes: { is_encrypted: true } } },
      '/data/attributes/is_encrypted',
    ],
  ])('takes no attributes: %j', async (sent, pointer) => {
    const before = await app.db.knex('backups').select('id');
    const { status, body } = await adminApi(app).post('/backups', sent);
    expect([status, body.errors[0].code, body.errors[0].source]).toEqual([
      422,
      'validation_failed',
      { pointer },
    ]);
    expect(await app.db.knex('backups').select('id')).toEqual(before);
  });

  it('shows why a backup failed', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const other = await startApp({ env: { BACKUP_DIR: join(file, 'backups') } });
    try {
      const { id } = (await adminApi(other).post('/backups')).body.data;
      const over = await untilOver(id, other);
      expect(over.state).toBe('failed');
      expect(over.error).toContain(`${join(file, 'backups')} (BACKUP_DIR) cannot be made: ENOTDIR`);
      expect((await adminApi(other).post('/backups')).status).toBe(202);
    } finally {
      await other.stop();
    }
  });
});

describe('without BACKUP_DIR', () => {
  it('a backup is refused with the setting that is missing', async () => {
    const other = await startApp({ isSweeping: false });
    try {
      const { status, body } = await adminApi(other).post('/backups');
      expect([status, body.errors[0].code]).toEqual([409, 'conflict']);
      expect(body.errors[0].detail).toContain('BACKUP_DIR');
      expect((await adminApi(other).get('/backups')).body.meta.total).toBe(0);
    } finally {
      await other.stop();
    }
  });
});

describe('BACKUP_EVERY', () => {
  it('requests a backup when the newest good one is older, once', async () => {
    const other = await startApp({ isSweeping: false });
    try {
      const { db } = other;
      const settings = {
        backupDir: temporaryDirectory(),
        backupEvery: 3_600_000,
        backupKeep: 7,
        backupPassphrase: undefined,
      };
      const backups = new Backups(settings, createJobQueue());
      const { logger } = capturingLogger();
      const task = createBackupScheduleTask({ db, logger, backups, settings });
      const run = () => runTask(task);
      await run();
      await run();
      const rows = await db.knex('backups').select('state', 'source', 'created_by');
      expect(rows).toEqual([{ state: 'waiting', source: 'schedule', created_by: 'system' }]);
      for (const file of await db.knex('backups').pluck('file')) writeFileSync(file, '');
      const finish = (hours: number) =>
        db.knex('backups').update({
          state: 'finished',
          created_at: db.knex.raw(`now() - interval '${hours} hours'`),
          finished_at: db.knex.fn.now(),
        });
      await finish(0.9);
      await run();
      expect(await db.knex('backups').pluck('state')).toEqual(['finished']);
      await finish(1.1);
      await run();
      expect((await db.knex('backups').pluck('state')).sort()).toEqual(['finished', 'waiting']);
    } finally {
      await other.stop();
    }
  });
});

describe('old backups', () => {
  it('are deleted but for the newest, and nothing else is', async () => {
    const place = temporaryDirectory();
    const names = [1, 2, 3].map((day) => `muster-2026010${day}T000000Z.backup`);
    for (const name of [...names, 'mine.backup', 'muster-old.backup'])
      writeFileSync(join(place, name), '');
    const deleted = [join(place, names[0] as string)];
    expect(await deleteOldBackups(place, 2)).toEqual({ deleted, kept: [] });
    expect(readdirSync(place).sort()).toEqual(
      ['mine.backup', names[1], names[2], 'muster-old.backup'].sort(),
    );
  });

  it('are not the one that was just made, whatever later names there are', async () => {
    const place = temporaryDirectory();
    const [made = '', ...later] = ['2026', '2098', '2099'].map(
      (year) => `muster-${year}0101T000000Z.backup`,
    );
    for (const name of [made, ...later]) writeFileSync(join(place, name), '');
    const nothing = { deleted: [], kept: [] };
    expect(await deleteOldBackups(place, 2, join(place, made))).toEqual(nothing);
    expect(readdirSync(place).sort()).toEqual([made, ...later]);
  });

  it('are not directories, and not files of no moment', async () => {
    const place = temporaryDirectory();
    const names = ['muster-20261345T000000Z.backup', 'muster-20260101T000000Z.backup'];
    writeFileSync(join(place, names[0] as string), '');
    mkdirSync(join(place, names[1] as string));
    writeFileSync(join(place, 'muster-20260102T000000Z.backup'), '');
    expect(await deleteOldBackups(place, 1)).toEqual({ deleted: [], kept: [] });
    expect(readdirSync(place)).toHaveLength(3);
  });

  it('are all deleted but those that cannot be', async () => {
    const place = temporaryDirectory();
    const names = [1, 2, 3, 4].map((day) => `muster-2026010${day}T000000Z.backup`);
    const files = names.map((name) => join(place, name));
    for (const file of files) writeFileSync(file, '');
    const [first = '', second] = files;
    const fault = new Error('operation not permitted');
    const real = fs.unlink;
    const unlink = jest.spyOn(fs, 'unlink').mockImplementation(async (file) => {
      if (file === first) throw fault;
      await real(file);
    });
    try {
      const kept = [{ file: first, cause: fault }];
      expect(await deleteOldBackups(place, 2)).toEqual({ deleted: [second], kept });
    } finally {
      unlink.mockRestore();
    }
    expect(readdirSync(place).sort()).toEqual([names[0], names[2], names[3]]);
  });
});
