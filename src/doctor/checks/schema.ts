import { hasJobs } from '../../db/doctor/work-facts.js';
import { migrationStatus } from '../../db/schema/migrate.js';
import type { Check } from '../check.js';
import { error, ok } from '../finding.js';

/** Codes with which no other check of the schema makes sense. */
export const OTHER_SCHEMA = ['schema_older', 'schema_newer', 'schema_missing'];

/** Whether the schema is that of this version. Runs before all checks that read tables. */
export const schemaCheck: Check = {
  name: 'schema',
  needs: 'database',
  run: async ({ db }) => {
    const { applied, pending, unknown } = await migrationStatus(db);
    const why = 'The server does not start, or /readyz answers 503, and tables cannot be checked.';
    if (unknown.length > 0) {
      const what = `The database is newer than this Muster: it has ${unknown.length} migrations that are unknown here (${unknown.slice(0, 3).join(', ')}).`;
      const cure = 'Use the version of Muster that migrated it, or a newer one.';
      return [error('schema_newer', { what, why, cure })];
    }
    if (applied.length === 0) {
      const what =
        'The database has no tables of Muster: it has not been started with it, or its first start is still under way.';
      const cure =
        'Wait for the start, or start the server: muster serve. Or check that DATABASE_URL and DATA_DIR are meant.';
      return [error('schema_missing', { what, why, cure })];
    }
    if (pending.length > 0) {
      const what =
        pending.length === 1
          ? `The migration ${pending[0]} is pending.`
          : `${pending.length} migrations are pending, the first is ${pending[0]}.`;
      const cure = 'muster migrate (back up before: docs/operations.md, "Upgrade")';
      return [error('schema_older', { what, why, cure })];
    }
    if (!(await hasJobs(db))) {
      const what = 'The tables of the job queue are missing: a start makes them now, or was ended.';
      const cure = 'Wait for the start that is under way, or run: muster migrate';
      return [error('schema_older', { what, why, cure })];
    }
    return [ok('schema', `All ${applied.length} migrations are applied.`)];
  },
};
