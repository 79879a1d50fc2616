import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from '../../src/embedded-postgres/instance-lock.js';
import { identify } from '../../src/embedded-postgres/processes.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

afterAll(removeTemporaryDirectories);

function deadProcess(): number {
  return spawnSync('true').pid;
}

function writeLock(directory: string, content: string): void {
  writeFileSync(join(directory, 'muster.lock'), content);
}

describe('the lock of a data directory', () => {
  it('is refused while its process lives', () => {
    const directory = temporaryDirectory();
    tryLock(directory, 'serve');
    expect(tryLock(directory, 'use')).toEqual({
      heldBy: { ...identify(process.pid), mode: 'serve' },
    });
  });

  it('is replaced if its process is dead', () => {
    const directory = temporaryDirectory();
    writeLock(directory, JSON.stringify({ pid: deadProcess(), startedAt: null, mode: 'serve' }));
    expect(tryLock(directory, 'serve')).toEqual({ release: expect.any(Function) });
    const lock = JSON.parse(readFileSync(join(directory, 'muster.lock'), 'utf8'));
    expect(lock).toEqual({ ...identify(process.pid), mode: 'serve' });
  });

  it('is replaced if the pid of its process belongs to another one now', () => {
    const directory = temporaryDirectory();
    writeLock(directory, JSON.stringify({ pid: process.pid, startedAt: 'long ago', mode: 'use' }));
    expect(tryLock(directory, 'serve')).toEqual({ release: expect.any(Function) });
  });

  it('is replaced if it cannot be read', () => {
    const directory = temporaryDirectory();
    writeLock(directory, '{"pid":');
    expect(tryLock(directory, 'serve')).toEqual({ release: expect.any(Function) });
  });

  it('waits for another process that is replacing it', () => {
    const directory = temporaryDirectory();
    writeLock(directory, JSON.stringify({ pid: deadProcess(), startedAt: null, mode: 'serve' }));
    writeFileSync(join(directory, 'muster.lock.breaking'), String(process.pid));
    expect(tryLock(directory, 'serve')).toMatchObject({ heldBy: { mode: 'serve' } });
  });

  it('is free once released, and leaves no files', () => {
    const directory = temporaryDirectory();
    const lock = tryLock(directory, 'serve');
    expect(statSync(join(directory, 'muster.lock')).mode & 0o777).toBe(0o644);
    if ('release' in lock) lock.release();
    expect(existsSync(join(directory, 'muster.lock'))).toBe(false);
    expect(readdirSync(directory)).toEqual([]);
  });
});
