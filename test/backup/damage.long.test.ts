import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenBackup, openBackup, readBackup } from '../../src/backup/read-backup.js';
import { createTestDatabase, type TestDatabase } from '../helpers/database.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';
import { backUp, PASSPHRASE, verify } from './backup-files.js';

let test: TestDatabase;
let plain: string;
let encrypted: string;

const FILL = `
insert into devices (udid, serial_number)
select gen_random_uuid()::text, 'C02' || n from generate_series(1, 2000) n`;

beforeAll(async () => {
  test = await createTestDatabase();
  await test.db.pool.query(FILL);
  plain = await backUp(test.db);
  encrypted = await backUp(test.db, { passphrase: PASSPHRASE });
});
afterAll(async () => {
  await test?.drop();
  removeTemporaryDirectories();
});

interface Part {
  start: number;
  end: number;
  /** Text that names where it is. */
  place: string;
}

/** The frames of a backup that is not encrypted, by its documented form. */
function partsOf(bytes: Buffer): Part[] {
  const parts: Part[] = [];
  let place = 'before the first table';
  for (let start = bytes.indexOf('\n') + 1; start < bytes.length; ) {
    const type = bytes.toString('latin1', start, start + 1);
    const length = bytes.readUInt32BE(start + 1);
    const end = start + 5 + length + 4;
    const content = bytes.subarray(start + 5, start + 5 + length);
    parts.push({ start, end, place });
    if (type === 'T') place = `in the table ${JSON.parse(content.toString()).name}`;
    if (type === 'E') place = place.replace('in the', 'after the');
    start = end;
  }
  return parts;
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

function written(bytes: Buffer): string {
  const file = join(temporaryDirectory(), 'damaged.backup');
  writeFileSync(file, bytes);
  return file;
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (error: Error) => error.message,
  );
}

describe('a flipped bit', () => {
  it('is found in every part of a backup, and the table is named', async () => {
    const bytes = readFileSync(plain);
    const file = written(bytes);
    const { header } = await openBackup(plain, () => Promise.resolve(PASSPHRASE));
    const damaged: OpenBackup = { file, size: bytes.length, header };
    const parts = partsOf(bytes);
    expect(parts.length).toBeGreaterThan(250);
    for (const [index, { start, end, place }] of parts.entries()) {
      const middle = start + Math.floor((end - start) / 2);
      // Of the length only the low bits: with a high one the part would have no end.
      const spots: [number, number][] = [
        [start, index % 8],
        [start + 4, index % 4],
        [middle, index % 8],
        [end - 1, index % 8],
      ];
      for (const [at, bit] of spots) {
        writeFileSync(file, flipped(bytes, at, bit));
        const failure = await failureOf(readBackup(damaged, {}));
        expect(failure).toContain(`${file} is `);
        expect(failure).toContain(`damaged ${place}; nothing was changed`);
      }
    }
  });

  it('is found in every byte of the header', async () => {
    const bytes = readFileSync(encrypted);
    const end = bytes.indexOf('\n') + 1;
    const found = new Set<string>();
    for (let at = 0; at < end; at += 1) {
      const file = written(flipped(bytes, at, 0));
      const failure = await failureOf(openBackup(file, () => Promise.reject(new Error('asked'))));
      // Deriving a key takes some tenths of a second.
      if (failure === 'asked' && at % 12 !== 0) continue;
      const last = failure === 'asked' ? await failureOf(verify(file)) : failure;
      found.add(last.replace(file, 'FILE'));
    }
    expect([...found].sort()).toEqual([
      // The last bit of the format's number.
      'FILE: it has the format 3, and this Muster reads up to 2: install a newer Muster. If this one made the backup, its first line is damaged: use another copy',
      'FILE: it is no backup of Muster',
      'FILE: its first line is damaged: use another copy of this backup',
      'FILE: the passphrase is wrong',
    ]);
  });

  it('is found in every chunk of an encrypted backup', async () => {
    const bytes = readFileSync(encrypted);
    const backup = await openBackup(encrypted, () => Promise.resolve(PASSPHRASE));
    const file = written(bytes);
    const first = backup.header.line.length;
    for (let at = first; at < bytes.length; at += 997) {
      writeFileSync(file, flipped(bytes, at, at % 8));
      const failure = await failureOf(readBackup({ ...backup, file }, {}));
      expect(failure).toMatch(/damaged (before the first table|in or after the table \w+);/);
    }
  });
});

describe('a backup that is cut off', () => {
  it('is never accepted as complete, wherever it ends', async () => {
    for (const source of [plain, encrypted]) {
      const backup = await openBackup(source, () => Promise.resolve(PASSPHRASE));
      const bytes = readFileSync(source);
      const file = written(bytes);
      for (let length = bytes.length - 1; length > backup.header.line.length; length -= 1_499) {
        truncateSync(file, length);
        const failure = await failureOf(readBackup({ ...backup, file }, {}));
        expect(failure).toContain(`${file} is cut off or damaged `);
      }
    }
  });

  it('is refused without its header, and when it is empty', async () => {
    const bytes = readFileSync(plain);
    expect(await failureOf(verify(written(Buffer.alloc(0))))).toContain(
      'it is no backup of Muster',
    );
    expect(await failureOf(verify(written(bytes.subarray(0, 20))))).toContain(
      'its first line is damaged',
    );
  });

  it('is refused with something after its end', async () => {
    const file = written(Buffer.concat([readFileSync(plain), Buffer.from('x')]));
    expect(await failureOf(verify(file))).toContain(`${file} is damaged after the table jobs`);
  });
});

describe('an encrypted backup', () => {
  it('reveals no row, and opens with its passphrase alone', async () => {
    expect(readFileSync(plain).includes('udid')).toBe(true);
    expect(readFileSync(encrypted).includes('udid')).toBe(false);
    expect((await verify(encrypted)).manifest.tables.length).toBeGreaterThan(80);
    expect(await failureOf(verify(encrypted, 'correct horse battery stable'))).toBe(
      `${encrypted}: the passphrase is wrong`,
    );
  });
});
