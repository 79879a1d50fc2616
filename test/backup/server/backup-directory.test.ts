import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/config.js';
import { createLogger } from '../../../src/logger.js';
import { checkFiles } from '../../../src/server/config-files.js';
import { serve } from '../../../src/server/main.js';
import { ROOT, TYPESCRIPT } from '../../helpers/process.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';

afterAll(removeTemporaryDirectories);

const NOBODY = 65_534;

function problemsOf(env: Record<string, string>): string[] {
  try {
    checkFiles(loadConfig(env, temporaryDirectory()));
    return [];
  } catch (error) {
    return (error as { problems: string[] }).problems;
  }
}

/** The answer to an account that is not root. */
function saidToNobody(directory: string): string {
  const file = join(ROOT, 'src', 'backup', 'server', 'backup-directory.ts');
  const code = `
    const { requireBackupDirectory } = require(${JSON.stringify(file)});
    if (process.getuid() === 0) process.setuid(${NOBODY});
    try { requireBackupDirectory(${JSON.stringify(directory)}); } catch (error) { console.log(error.message); }`;
  const options = { encoding: 'utf8', cwd: ROOT } as const;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--require', TYPESCRIPT, '-e', code],
    options,
  );
  expect(stderr).toBe('');
  return stdout.trim();
}

describe('BACKUP_DIR', () => {
  it('may be a directory, or one that can be made, and the start makes none', () => {
    const home = temporaryDirectory();
    expect(problemsOf({ BACKUP_DIR: home })).toEqual([]);
    expect(problemsOf({ BACKUP_DIR: join(home, 'some', 'backups') })).toEqual([]);
    expect(existsSync(join(home, 'some'))).toBe(false);
  });

  it('is refused where it is a file, in a file, or a link to nothing', () => {
    const home = temporaryDirectory();
    const file = join(home, 'file');
    const link = join(home, 'link');
    writeFileSync(file, '');
    symlinkSync(join(home, 'unmounted'), link);
    expect(problemsOf({ BACKUP_DIR: file })).toEqual([
      `BACKUP_DIR: ${file} is no directory; name a directory, or move ${file} away`,
    ]);
    expect(problemsOf({ BACKUP_DIR: join(file, 'backups') })).toEqual([
      `BACKUP_DIR: ${file}, which it is in, is no directory; name a directory, or move ${file} away`,
    ]);
    expect(problemsOf({ BACKUP_DIR: join(link, 'backups') })).toEqual([
      `BACKUP_DIR: ${link} is a link to nothing; mount or make what it links to`,
    ]);
  });

  it('is refused where the account of the server may not write to it, or not make it', () => {
    const home = temporaryDirectory();
    const directory = join(home, 'backups');
    mkdirSync(directory, { mode: 0o555 });
    const next = join(directory, 'next');
    expect(saidToNobody(directory)).toBe(
      `${directory} cannot be written (EACCES); let the account of the server write to it, or name another directory`,
    );
    expect(saidToNobody(next)).toBe(
      `${next} does not exist and cannot be made (EACCES); make it, owned by the account of the server, or name another directory`,
    );
  });

  it('does not matter to a process that makes no backups', () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const DATABASE_URL = 'postgresql://127.0.0.1/x';
    expect(problemsOf({ BACKUP_DIR: file, ROLE: 'web', DATABASE_URL })).toEqual([]);
    expect(problemsOf({ BACKUP_DIR: file, ROLE: 'worker', DATABASE_URL })).toHaveLength(1);
  });

  it('ends the start before anything is made', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'file'), '');
    const config = loadConfig({ BACKUP_DIR: 'file', DATA_DIR: 'data' }, home);
    await expect(serve(config, createLogger('silent'))).rejects.toThrow(
      /BACKUP_DIR: .* is no directory/,
    );
    expect(existsSync(join(home, 'data'))).toBe(false);
  });
});
