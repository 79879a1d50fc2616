import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { unavailable } from '../../errors.js';
import { isOutage } from '../connection/outage.js';
import { postgresMessage } from '../connection/sqlstate.js';

/** Relative to this file, also when it is compiled to `dist`. */
export const MIGRATIONS_DIRECTORY = join(__dirname, '..', '..', '..', 'migrations');

const MIGRATION_FILE = /^(\d{14}_[a-z0-9_]+)\.(?:ts|js)$/;

/** Logs changes of a migration that an admin should know. */
export type MigrationReport = (details: object, message: string) => void;

type Step = (knex: Knex, report: MigrationReport) => PromiseLike<unknown>;

interface LoadedMigration {
  up: Step;
  down: Step;
  config?: { transaction?: boolean };
}

const load = createRequire(__filename);

/** Migrations may run longer than requests. */
function withoutTimeouts(step: Step): Step {
  return async (knex, report) => {
    await knex.raw('set local statement_timeout = 0');
    await knex.raw('set local lock_timeout = 0');
    await step(knex, report);
  };
}

/**
 * Migrations of one directory by their names without the file extension, so that the sources and the
 * compiled files count as the same migrations.
 */
export class DirectoryMigrationSource implements Knex.MigrationSource<string> {
  readonly directory: string;
  /** Milliseconds that each migration applied by this source took, by name. */
  readonly durations = new Map<string, number>();
  /** The one that was begun last. */
  begun: string | undefined;
  readonly #report: MigrationReport;
  readonly #names: string[];

  constructor(
    directory: string,
    report: MigrationReport = () => {},
    names: string[] = namesIn(directory),
  ) {
    this.directory = directory;
    this.#report = report;
    this.#names = names;
  }

  /** Names in the order in which they run. */
  names(): string[] {
    return this.#names;
  }

  /** The same directory with nothing but the migrations of these names. */
  only(names: string[]): DirectoryMigrationSource {
    const chosen = this.#names.filter((name) => names.includes(name));
    return new DirectoryMigrationSource(this.directory, this.#report, chosen);
  }

  /** Groups that share a transaction, in order; a migration that runs outside of any is alone. */
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
    const migration = this.#load(name);
    // A migration that runs outside a transaction must lift the time limits itself.
    const usesTransaction = this.usesTransaction(name);
    const step = (direction: 'up' | 'down') => async (knex: Knex) => {
      const run = usesTransaction ? withoutTimeouts(migration[direction]) : migration[direction];
      const startedAt = performance.now();
      this.begun = name;
      await run(knex, this.#report);
      this.durations.set(name, Math.round(performance.now() - startedAt));
    };
    return Promise.resolve({ ...migration, up: step('up'), down: step('down') });
  }

  usesTransaction(name: string): boolean {
    return this.#load(name).config?.transaction !== false;
  }

  #load(name: string): LoadedMigration {
    return load(join(this.directory, name)) as LoadedMigration;
  }
}

function namesIn(directory: string): string[] {
  return readdirSync(directory)
    .flatMap((file) => MIGRATION_FILE.exec(file)?.[1] ?? [])
    .sort();
}

/** Says which migration failed and why; a fault that is not PostgreSQL's is one of the program. */
export function failureOf(source: DirectoryMigrationSource): (cause: unknown) => never {
  return (cause) => {
    const reason = postgresMessage(cause);
    const { begun } = source;
    if (reason === undefined || begun === undefined || isOutage(cause)) throw cause;
    const state = source.usesTransaction(begun)
      ? 'What it did, and others in its transaction, is taken back'
      : 'It runs outside a transaction: the next try does all of it again';
    throw unavailable(
      `the migration ${begun} failed: ${reason}. ${state}. Remove the cause, then run \`muster migrate\` ` +
        'or start the server; `muster migrate --plan` says what it does.',
      cause,
    );
  };
}
