import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Names the folder in which the test files of this run find their PostgreSQL: the first that needs a
 * database starts it (`database.ts`), so that a test without one does not wait for it.
 */
module.exports = function globalSetup(): void {
  const run = mkdtempSync(join(tmpdir(), 'muster-test-run-'));
  writeFileSync(join(run, 'jest'), String(process.pid));
  process.env.MUSTER_TEST_RUN = run;
};
