import type { Command } from 'commander';
import { migrate, migrationStatus, rollback } from '../db/schema/migrate.js';
import { planMigrations } from '../db/schema/migration-plan.js';
import { createLogger } from '../logger.js';
import { planLines } from './migration-plan-text.js';
import { withDatabase } from './open-database.js';
import { writeLine } from './table.js';

interface MigrateOptions {
  status?: boolean;
  plan?: boolean;
  json?: boolean;
  rollback?: boolean;
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--status', 'only show what is pending')
    .option('--plan', 'only show what the pending migrations do, and whom they block')
    .option('--json', 'with --plan: as JSON')
    .option('--rollback', 'undo the last batch')
    .action((options: MigrateOptions) =>
      withDatabase(async (db) => {
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
        const names = await (options.rollback ? rollback(db, { logger }) : migrate(db, { logger }));
        const verb = options.rollback ? 'taken back' : 'applied';
        for (const name of names) writeLine(`${verb}  ${name}`);
        if (names.length === 0) writeLine('nothing to do: the schema is up to date');
      }),
    );
}
