import type { Database } from '../connection/database.js';
import measured from './measured-migrations.json';
import { migrationStatus, requireKnownDatabase } from './migrate.js';
import { DirectoryMigrationSource, MIGRATIONS_DIRECTORY } from './migration-source.js';
import { recordStatements } from './recorded-statements.js';
import { completed, readCatalog, type SchemaCatalog } from './schema-catalog.js';
import { splitStatements } from './sql-statements.js';
import { type Effect, effectsOf } from './statement-effects.js';

export interface PlannedMigration {
  name: string;
  /** Those of one kind on one table together. */
  effects: PlannedEffect[];
  /** How long it took where it was tried; undefined where it was not. */
  measuredMs?: number | undefined;
  /** The longest that one of the devices' writes took meanwhile; undefined where it was not tried. */
  slowestWriteMs?: number | undefined;
}

/** Rows of the database on which migrations were tried: of the former release, see bench/upgrade.ts. */
export const MEASURED_ON = { devices: measured.devices, commands: measured.commands };

const MEASURED_MS: Partial<Record<string, number>> = measured.ms;
const SLOWEST_WRITE_MS: Partial<Record<string, number>> = measured.slowestWriteMs;

export interface PlannedEffect extends Omit<Effect, 'name'> {
  names: string[];
  /** PostgreSQL's estimate, where the time depends on it. */
  rows?: number | undefined;
}

/** Migrations that are applied together or not at all. */
export interface PlannedStep {
  /** False: it runs outside of a transaction, and holds locks for one statement at most. */
  inTransaction: boolean;
  migrations: PlannedMigration[];
}

/**
 * What `migrate` would do now. Changes nothing, and locks nothing. Throws AppError for a database newer than
 * this Muster.
 */
export async function planMigrations(
  db: Database,
  directory: string = MIGRATIONS_DIRECTORY,
): Promise<PlannedStep[]> {
  await requireKnownDatabase(db, directory);
  const { pending } = await migrationStatus(db, directory);
  const source = new DirectoryMigrationSource(directory);
  const catalog = await readCatalog(db);
  const steps: PlannedStep[] = [];
  for (const names of source.groups(pending)) {
    const migrations: PlannedMigration[] = [];
    for (const name of names) {
      const effects = joined(await migrationEffects(source, name, catalog));
      const shown = effects.flatMap((one) => withRows(one, catalog));
      const [measuredMs, slowestWriteMs] = [MEASURED_MS[name], SLOWEST_WRITE_MS[name]];
      migrations.push({ name, effects: shown, measuredMs, slowestWriteMs });
    }
    const inTransaction = names.every((name) => source.usesTransaction(name));
    steps.push({ inTransaction, migrations });
  }
  return steps;
}

/** What a migration does, its statements in their order. Rejects if it needs rows that are not there. */
export async function migrationEffects(
  source: DirectoryMigrationSource,
  name: string,
  catalog: SchemaCatalog,
): Promise<Effect[]> {
  const migration = await source.getMigration(name);
  const scripts = await recordStatements(
    (recorder) => migration.up(recorder),
    catalog.serverVersion,
  );
  const effects = scripts.flatMap(splitStatements).flatMap(effectsOf);
  return effects.flatMap((effect) => completed(effect, catalog));
}

function joined(effects: Effect[]): PlannedEffect[] {
  const found = new Map<string, PlannedEffect>();
  for (const { name, kind, table, blocks, grows } of effects) {
    const key = [kind, table, blocks, grows].join(' ');
    const known = found.get(key);
    if (known === undefined) {
      found.set(key, { kind, table, blocks, grows, names: name === '' ? [] : [name] });
    } else if (name !== '') known.names.push(name);
  }
  return [...found.values()];
}

/** Nobody waits for a table that the plan itself makes: of those, only that it is made is said. */
function withRows(effect: PlannedEffect, { rows }: SchemaCatalog): PlannedEffect[] {
  const { table, grows } = effect;
  if (table === undefined) return [effect];
  const count = rows.get(table);
  if (count === undefined) return [];
  return [grows ? { ...effect, rows: count } : effect];
}
