import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Knex } from 'knex';

/** The same place from `src/db` and, compiled, from `dist/src/db`. */
export const MIGRATIONS_DIRECTORY = join(__dirname, '..', '..', '..', 'migrations');

const MIGRATION_FILE = /^(\d{14}_[a-z0-9_]+)\.(?:ts|js)$/;

/** Writes a line to the log: what a migration changed that an admin would otherwise miss. */
export type MigrationReport = (details: object, message: string) => void;

type Step = (knex: Knex, report: MigrationReport) => PromiseLike<unknown>;

interface LoadedMigration {
  up: Step;
  down: Step;
  config?: { transaction?: boolean };
}

const load = createRequire(__filename);

/** A migration may wait and work for as long as it needs; the limits of requests are not for it. */
function withoutTimeouts(step: Step): Step {
  return async (knex, report) => {
    await knex.raw('set local statement_timeout = 0');
    await knex.raw('set local lock_timeout = 0');
    await step(knex, report);
  };
}

/**
 * Migrations of one directory by name without the file's extension, so that a database migrated
 * from the sources is the same to the compiled program.
 */
export class DirectoryMigrationSource implements Knex.MigrationSource<string> {
  constructor(
    readonly directory: string,
    private readonly report: MigrationReport = () => {},
    private readonly known: string[] = namesIn(directory),
  ) {}

  /** Names in the order in which they run. */
  names(): string[] {
    return this.known;
  }

  /** The same directory with nothing but the migrations of these names. */
  only(names: string[]): DirectoryMigrationSource {
    const known = this.known.filter((name) => names.includes(name));
    return new DirectoryMigrationSource(this.directory, this.report, known);
  }

  /** What can share a transaction, in order: one that runs outside of any is a group of its own. */
  groups(names: string[]): string[][] {
    const groups: string[][] = [];
    let canJoin = false;
    for (const name of names) {
      const usesTransaction = this.usesTransaction(name);
      if (canJoin && usesTransaction) groups.at(-1)?.push(name);
      else groups.push([name]);
      canJoin = usesTransaction;
    }
    return groups;
  }

  getMigrations(): Promise<string[]> {
    return Promise.resolve(this.names());
  }

  getMigrationName(name: string): string {
    return name;
  }

  getMigration(name: string): Promise<Knex.Migration> {
    const migration = this.load(name);
    // One that asks to run outside a transaction has to lift the limits itself.
    const usesTransaction = this.usesTransaction(name);
    const step = (direction: 'up' | 'down') => async (knex: Knex) => {
      const run = usesTransaction ? withoutTimeouts(migration[direction]) : migration[direction];
      await run(knex, this.report);
    };
    return Promise.resolve({ ...migration, up: step('up'), down: step('down') });
  }

  private usesTransaction(name: string): boolean {
    return this.load(name).config?.transaction !== false;
  }

  private load(name: string): LoadedMigration {
    return load(join(this.directory, name)) as LoadedMigration;
  }
}

function namesIn(directory: string): string[] {
  return readdirSync(directory)
    .flatMap((file) => MIGRATION_FILE.exec(file)?.[1] ?? [])
    .sort();
}
