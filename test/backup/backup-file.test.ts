import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeBackupFile } from '../../src/backup/backup-file.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-backup-file-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('two backups into one file at once', () => {
  it('are one whole file, and an error for the one that ends later', async () => {
    const file = join(directory, 'nightly.backup');
    let release = () => undefined as unknown;
    const held = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    const slow = writeBackupFile(
      file,
      (async function* () {
        yield Buffer.from('half of the slow one');
        await held;
        yield Buffer.from(', and its rest');
      })(),
    );
    const quick = (async function* () {
      yield Buffer.from('the quick one');
    })();
    expect(await writeBackupFile(file, quick)).toBe(13);
    expect(readFileSync(file, 'utf8')).toBe('the quick one');
    release();
    await expect(slow).rejects.toThrow(`${file} exists: name another file, or move this one away`);
    expect(readFileSync(file, 'utf8')).toBe('the quick one');
    expect(readdirSync(directory)).toEqual(['nightly.backup']);
  });
});
