import type { Command } from 'commander';
import { migrate, migrationStatus, rollback } from '../db/schema/migrate.js';
import { createLogger } from '../logger.js';
import { withDatabase } from './open-database.js';
import { writeLine } from './table.js';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--status', 'only show what is pending')
    .option('--rollback', 'undo the last batch')
    .action((options: { status?: boolean; rollback?: boolean }) =>
      withDatabase(async (db) => {
        const logger = createLogger('warn');
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
