import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../src/logger.js';
import { loadMasterKey } from '../../../src/pki/master-key/master-key-source.js';
import { createTestDatabase, type TestDatabase } from '../../helpers/database.js';

let test: TestDatabase;
let dataDir: string;
let warnings: string[];

beforeAll(async () => {
  test = await createTestDatabase();
  dataDir = mkdtempSync(join(tmpdir(), 'muster-key-'));
});
beforeEach(() => {
  warnings = [];
});
afterAll(async () => {
  await test.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

function load(): Promise<Buffer> {
  const logger = {
    info: () => undefined,
    warn: (_fields: object, message: string) => warnings.push(message),
  } as unknown as Logger;
  return loadMasterKey({ db: test.db, dataDir, configured: undefined, logger });
}

it('makes the key once, readable by its owner alone, and then reuses it', async () => {
  const made = await load();
  const file = join(dataDir, 'master.key');
  expect(made).toHaveLength(32);
  expect(readFileSync(file, 'utf8')).toBe(`${made.toString('base64')}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await load()).equals(made)).toBe(true);
  expect(warnings).toEqual([]);
});

it('warns when others can read the key', async () => {
  chmodSync(join(dataDir, 'master.key'), 0o644);
  await load();
  expect(warnings).toEqual(['others on this machine can read the master key; chmod 600 it']);
});
