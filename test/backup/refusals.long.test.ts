import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writeBackupFile } from '../../src/backup/backup-file.js';
import { makeHeader } from '../../src/backup/backup-header.js';
import { backupStream } from '../../src/backup/backup-stream.js';
import { openBackup } from '../../src/backup/read-backup.js';
import { verifyBackup } from '../../src/backup/restore-backup.js';
import { type RestoreIo, restoreCommand } from '../../src/cli/backup/restore.js';
import { Snapshot } from '../../src/db/backup/snapshot.js';
import {
  knownMigrations,
  migrate,
  migrationStatus,
  withLockedSchema,
} from '../../src/db/schema/migrate.js';
import { MASTER_KEY, startApp, type TestApp } from '../helpers/app.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { capturingLogger } from '../http/log-lines.js';
import { backUp, PASSPHRASE, restore } from './backup-files.js';
import { tableDigests } from './table-digests.js';

let source: TestApp;
let encrypted: string;
let withKey: string;
const databases: TestDatabase[] = [];

beforeAll(async () => {
  source = await startApp({ isSweeping: false });
  await source.halt();
  await source.db.knex('devices').insert({ udid: 'of-the-backup' });
  encrypted = await backUp(source.db, { passphrase: PASSPHRASE });
  withKey = await backUp(source.db, { passphrase: PASSPHRASE, withMasterKey: true });
}, 60_000);
afterEach(async () => {
  for (const database of databases.splice(0)) await database.drop();
});
afterAll(async () => {
  await source?.database.drop();
  removeTemporaryDirectories();
});

async function opened(database: Promise<TestDatabase>): Promise<TestDatabase> {
  databases.push(await database);
  return await database;
}

type Given = Partial<RestoreIo['config']> & { db?: TestDatabase['db'] | undefined };

/** `muster restore` without a terminal; without `db` it must not come as far as the database. */
async function restoreBy(file: string, given: Given = {}): Promise<string[]> {
  const { dataDir = temporaryDirectory(), masterKey, db } = given;
  const { backupPassphrase = PASSPHRASE } = given;
  const written: string[] = [];
  const io: RestoreIo = {
    config: { dataDir, masterKey, backupPassphrase },
    logger: capturingLogger().logger,
    withDatabase: async (work) => {
      if (db === undefined) throw new Error('the database was opened');
      await work(db);
    },
    stdin: (async function* () {})(),
    ask: undefined,
    write: (line) => written.push(line),
  };
  await restoreCommand(io, file, { keepQueue: true });
  return written;
}

const refusal = (file: string, given: Given = {}) =>
  restoreBy(file, given).then(
    () => 'restored',
    (error: Error) => error.message,
  );

describe('a restore into a database that is not empty', () => {
  const ADVICE =
    'nothing was changed. Restore into a new database: another DATABASE_URL, or another DATA_DIR';

  it('is refused, and changes no row', async () => {
    const { db } = await opened(createTestDatabase());
    await db.knex('tags').insert({ name: 'mine' });
    const before = await tableDigests(db);
    expect(await refusal(encrypted, { db, masterKey: MASTER_KEY })).toBe(
      `the database is not empty (the table tags has rows); ${ADVICE}`,
    );
    expect(await tableDigests(db)).toEqual(before);
  });

  it('is refused for tables of another program', async () => {
    const { db } = await opened(createEmptyDatabase());
    await db.pool.query('create table orders (id bigint primary key)');
    expect(await refusal(encrypted, { db, masterKey: MASTER_KEY })).toBe(
      `the database is not empty (there is orders); ${ADVICE}`,
    );
    const { rows } = await db.pool.query("select relname from pg_class where relname like 'knex%'");
    expect(rows).toEqual([]);
  });

  it('is refused while a server runs on it', async () => {
    const { db } = await opened(createTestDatabase());
    const process_ = { role: 'all', hostname: hostname(), pid: process.ppid, version: '1' };
    await db.knex('server_processes').insert({ id: 'running', ...process_ });
    expect(await refusal(encrypted, { db, masterKey: MASTER_KEY })).toBe(
      `a server runs on this database (${hostname()}, process ${process.ppid}): stop every process ` +
        'of it first',
    );
  });

  it('is done where a migration has left an unused schema', async () => {
    const { db } = await opened(createTestDatabase());
    expect(await refusal(encrypted, { db, masterKey: MASTER_KEY })).toBe('restored');
    expect(await db.knex('devices').pluck('udid')).toEqual(['of-the-backup']);
  });
});

describe('a restore with another master key', () => {
  const OTHER = Buffer.alloc(32, 9);
  const keyFile = (dataDir: string) => join(dataDir, 'master.key');

  it('is refused for MASTER_KEY and for the file, before the database is opened', async () => {
    expect(await refusal(encrypted, { masterKey: OTHER })).toMatch(
      /^The master key in MASTER_KEY \(\w+\) is not the one that the secrets of the backup are sealed under, which is another one \(\w+\); nothing was changed\. Put that one in its place\.$/,
    );
    const dataDir = temporaryDirectory();
    writeFileSync(keyFile(dataDir), `${OTHER.toString('base64')}\n`, { mode: 0o600 });
    expect(await refusal(withKey, { dataDir })).toContain(
      `The master key in ${keyFile(dataDir)} (`,
    );
    expect(await refusal(withKey, { masterKey: OTHER })).toMatch(
      / nothing was changed\. Unset MASTER_KEY\.$/,
    );
    const right = temporaryDirectory();
    writeFileSync(keyFile(right), `${MASTER_KEY.toString('base64')}\n`, { mode: 0o600 });
    expect(await refusal(encrypted, { masterKey: OTHER, dataDir: right })).toMatch(
      / nothing was changed\. Unset MASTER_KEY\.$/,
    );
    expect(readFileSync(keyFile(dataDir), 'utf8')).toBe(`${OTHER.toString('base64')}\n`);
  });

  it('is refused without any, and names where to put it', async () => {
    const dataDir = temporaryDirectory();
    const message = await refusal(encrypted, { dataDir });
    expect(message).toMatch(
      /^The secrets of the backup are sealed under a master key \(\w+\) that is neither here nor in the backup; nothing was changed\./,
    );
    expect(message).toContain(`Put it into ${keyFile(dataDir)}, or set MASTER_KEY.`);
  });

  it('puts the key of the backup in place, for its owner alone', async () => {
    const { db } = await opened(createEmptyDatabase());
    const dataDir = temporaryDirectory();
    const written = await restoreBy(withKey, { db, dataDir });
    expect(written.at(-1)).toBe(`The master key of the backup is in ${keyFile(dataDir)}.`);
    expect(readFileSync(keyFile(dataDir), 'utf8').trim()).toBe(MASTER_KEY.toString('base64'));
  });

  it('removes the key again when the restore fails', async () => {
    const { db } = await opened(createTestDatabase());
    await db.knex('tags').insert({ name: 'mine' });
    const dataDir = temporaryDirectory();
    expect(await refusal(withKey, { db, dataDir })).toContain('the database is not empty');
    expect(() => readFileSync(keyFile(dataDir))).toThrow('ENOENT');
  });
});

describe('a restore without the right passphrase', () => {
  it('is refused, and so is one without any', async () => {
    expect(await refusal(encrypted, { backupPassphrase: 'correct horse battery stable' })).toBe(
      `${encrypted}: the passphrase is wrong`,
    );
    const backup = openBackup(encrypted, () => Promise.reject(new Error('no passphrase')));
    await expect(backup).rejects.toThrow('no passphrase');
  });
});

describe('a file that this Muster cannot read', () => {
  it('is refused when a newer Muster has made it', async () => {
    const backup = await openBackup(encrypted, () => Promise.resolve(PASSPHRASE));
    const migrations = knownMigrations();
    const newest = migrations.pop();
    await expect(verifyBackup(backup, { migrations })).rejects.toThrow(
      `${encrypted}: it was made by a newer Muster (9.9.9, with the migration ${newest}): install ` +
        'that version, then restore',
    );
  });

  it('is refused when its format is newer', async () => {
    const file = join(temporaryDirectory(), 'new.backup');
    writeFileSync(file, 'MUSTER-BACKUP {"format":3,"what":"nobody knows"}\n...');
    expect(await refusal(file)).toBe(
      `${file}: it has the format 3, and this Muster reads up to 2: install a newer Muster. If this one made the backup, its first line is damaged: use another copy`,
    );
  });

  it('is refused when it is none, or is missing', async () => {
    const file = join(temporaryDirectory(), 'muster.dump');
    writeFileSync(file, 'PGDMP and so on\n');
    expect(await refusal(file)).toBe(`${file}: it is no backup of Muster`);
    expect(await refusal(`${file}.gone`)).toMatch(/^.*muster\.dump\.gone cannot be read \(ENOENT/);
  });
});

describe('a backup', () => {
  it('has the master key only if it is encrypted', async () => {
    await expect(backUp(source.db, { withMasterKey: true })).rejects.toThrow(
      'the master key is only put into an encrypted backup: pass --passphrase-file FILE, or set BACKUP_PASSPHRASE',
    );
  });

  it('does not replace a file', async () => {
    const before = readFileSync(encrypted);
    const bytes = (async function* () {
      yield Buffer.from('new');
    })();
    await expect(writeBackupFile(encrypted, bytes)).rejects.toThrow(
      `${encrypted} exists: name another file, or move this one away`,
    );
    expect(readFileSync(encrypted).equals(before)).toBe(true);
  });

  it('is not made with another master key than that of the secrets', async () => {
    const made = backUp(source.db, { masterKey: Buffer.alloc(32, 9) });
    await expect(made).rejects.toMatchObject({ code: 'master_key_mismatch' });
  });

  it('is not made of a schema that is older than the program', async () => {
    const { db } = await opened(createEmptyDatabase());
    await expect(backUp(db)).rejects.toThrow(
      'the schema of the database is older than this Muster',
    );
  });
});

/** As a Muster made it that had a few migrations fewer. */
async function oldBackup(count: number): Promise<string> {
  const { db } = await opened(createEmptyDatabase());
  const { logger } = capturingLogger();
  const names = knownMigrations().slice(0, -count);
  await withLockedSchema(db, logger, async (schema) => await schema.migrate(names));
  await db.knex('tags').insert({ name: 'old' });
  const snapshot = await Snapshot.open(db);
  try {
    const about = {
      ...{ format: 1, muster_version: '0.0.1', created_at: new Date().toISOString() },
      ...{ postgres_version: snapshot.serverVersion, migrations: [...snapshot.migrations] },
      master_key: null,
    };
    const file = join(temporaryDirectory(), 'old.backup');
    const header = await makeHeader(undefined);
    await writeBackupFile(file, backupStream({ header, about, snapshot }));
    return file;
  } finally {
    await snapshot.close();
  }
}

describe('a backup of an older Muster', () => {
  it.each([
    ['an empty database', createEmptyDatabase],
    ['a schema of today', createTestDatabase],
  ])('is restored into %s and migrated', async (_what, create) => {
    const file = await oldBackup(12);
    const { db } = await opened(create());
    await restore(db, file);
    expect(await migrationStatus(db)).toMatchObject({ pending: [], unknown: [] });
    expect(await db.knex('tags').select('name')).toEqual([{ name: 'old' }]);
    await expect(migrate(db, { logger: capturingLogger().logger })).resolves.toEqual([]);
  });
});
