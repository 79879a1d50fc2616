import type { Command } from 'commander';
import { refuseServed } from '../../backup/restore-backup.js';
import { loadConfig } from '../../config/config.js';
import { canHaveProcesses } from '../../db/backup/target.js';
import type { Database } from '../../db/connection/database.js';
import { migrate, migrationStatus, rollback } from '../../db/schema/migrate.js';
import { planMigrations } from '../../db/schema/migration-plan.js';
import { createLogger } from '../../logger.js';
import { requireDatabase } from '../missing-database.js';
import { requireTables, withDatabase } from '../open-database.js';
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
      const { status, plan, json, rollback: isReverting } = options;
      if (json && !plan) throw new UsageError('--json is for --plan');
      if ([status, plan, isReverting].filter(Boolean).length > 1) {
        throw new UsageError('use one of --status, --plan and --rollback');
      }
      if (status || plan || isReverting) requireDatabase(loadConfig(), 'migrate');
      return withDatabase(async (db) => {
        if (plan) return await showPlan(db, { isJson: json === true });
        if (status) return await showStatus(db);
        await (isReverting ? revert(db) : apply(db));
      });
    });
}

async function showPlan(db: Database, { isJson }: { isJson: boolean }): Promise<void> {
  const steps = await planMigrations(db);
  const lines = isJson ? [JSON.stringify(steps, null, 2)] : planLines(steps);
  for (const line of lines) writeLine(line);
}

async function showStatus(db: Database): Promise<void> {
  const { applied, pending } = await migrationStatus(db);
  for (const name of applied) writeLine(`applied  ${name}`);
  for (const name of pending) writeLine(`pending  ${name}`);
}

async function apply(db: Database): Promise<void> {
  showChanges('applied', await migrate(db, { logger: createLogger('warn') }));
}

async function revert(db: Database): Promise<void> {
  await requireTables(db);
  await requireNoServer(db);
  showChanges('taken back', await rollback(db, { logger: createLogger('warn') }));
}

function showChanges(verb: string, names: string[]): void {
  for (const name of names) writeLine(`${verb}  ${name}`);
  if (names.length === 0) writeLine('nothing to do: the schema is up to date');
}
