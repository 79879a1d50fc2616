import type { Command } from 'commander';
import { refuseServed } from '../../backup/restore-backup.js';
import { canHaveProcesses } from '../../db/backup/target.js';
import type { Database } from '../../db/connection/database.js';
import { migrate, migrationStatus, rollback } from '../../db/schema/migrate.js';
import { planMigrations } from '../../db/schema/migration-plan.js';
import { createLogger } from '../../logger.js';
import { withDatabase } from '../open-database.js';
import { UsageError } from '../options.js';
import { writeLine } from '../table.js';
import { planLines } from './migration-plan-text.js';

interface MigrateOptions {
  status?: boolean;
  plan?: boolean;
  json?: boolean;
  rollback?: boolean;
}

/** The schema must not go back under a server that uses it. */
async function requireNoServer(db: Database): Promise<void> {
  if (await canHaveProcesses(db)) await refuseServed(db);
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--status', 'only show what is pending')
    .option('--plan', 'only show what the pending migrations do, and whom they block')
    .option('--json', 'with --plan: as JSON')
    .option(
      '--rollback',
      'undo the migrations of the last upgrade, and what was stored in their columns',
    )
    .action((options: MigrateOptions) => {
      if (options.json && !options.plan) throw new UsageError('--json is for --plan');
      return withDatabase(async (db) => {
        const logger = createLogger('warn');
        if (options.plan) {
          const steps = await planMigrations(db);
          const lines = options.json ? [JSON.stringify(steps, null, 2)] : planLines(steps);
          for (const line of lines) writeLine(line);
          return;
        }
        if (options.status) {
          const { applied, pending } = await migrationStatus(db);
          for (const name of applied) writeLine(`applied  ${name}`);
          for (const name of pending) writeLine(`pending  ${name}`);
          return;
        }
        if (options.rollback) await requireNoServer(db);
        const names = await (options.rollback ? rollback(db, { logger }) : migrate(db, { logger }));
        const verb = options.rollback ? 'taken back' : 'applied';
        for (const name of names) writeLine(`${verb}  ${name}`);
        if (names.length === 0) writeLine('nothing to do: the schema is up to date');
      });
    });
}
