#!/usr/bin/env node
import { Command } from 'commander';
import { version } from '../../package.json';
import { ConfigError, loadConfig } from '../config/config.js';
import { AppError } from '../errors.js';
import { LabError } from '../lab/wire/lab-error.js';
import type { LabIo } from './lab/lab.js';
import { UsageError } from './options.js';
import { endWithReader } from './process-failures.js';
import { writeLine } from './table.js';

const USAGE_ERROR = 2;

function finish(code: number): void {
  process.exitCode = code;
}

/**
 * Turns the lab on, in one process, and logs warnings to standard error, or more if LOG_LEVEL asks for it. LOG_LEVEL=info
 * in a `.env` does not count: .env.example sets it.
 */
async function openLab(): Promise<Pick<LabIo, 'config' | 'logger'>> {
  const { createLogger } = await import('../logger.js');
  const config = loadConfig({ ...process.env, LAB: 'on', WORKERS: '1' }, process.cwd());
  const isSet = Boolean(process.env.LOG_LEVEL?.trim()) || config.logLevel !== 'info';
  return { config, logger: createLogger(isSet ? config.logLevel : 'warn', process.stderr) };
}

/** URL of the configured server; `serve` reports a faulty configuration. */
function defaultUrl(): string {
  try {
    return loadConfig().publicUrl;
  } catch (error) {
    if (error instanceof ConfigError) return 'http://localhost:8080';
    throw error;
  }
}

/** Adds each command. Most of a start is loading modules, so a command loads what it needs and no more. */
const COMMANDS: Record<string, (program: Command) => Promise<void>> = {
  serve: async (program) => {
    program
      .command('serve')
      .description('run the server until it is stopped')
      .action(async () => {
        const { createLogger } = await import('../logger.js');
        const { serveCommand } = await import('./serve.js');
        const config = loadConfig();
        await serveCommand(config, createLogger(config.logLevel));
      });
  },
  migrate: async (program) => {
    const { addMigrateCommand } = await import('./migrate/migrate.js');
    addMigrateCommand(program);
  },
  doctor: async (program) => {
    const { addDoctorCommand } = await import('./doctor/doctor.js');
    addDoctorCommand(program, { readConfig: loadConfig, write: writeLine, finish });
  },
  health: async (program) => {
    const { addHealthCommand } = await import('./health.js');
    addHealthCommand(program, { readConfig: loadConfig, write: writeLine, finish });
  },
  backup: async (program) => {
    const { addBackupCommand } = await import('./backup/backup.js');
    const { withBackup } = await import('./open-database.js');
    addBackupCommand(program, withBackup('backup'), { musterVersion: version });
  },
  restore: async (program) => {
    const { addRestoreCommand } = await import('./backup/restore.js');
    const { askHidden } = await import('./password.js');
    const { openForRestore } = await import('./open-database.js');
    const { stdin } = process;
    const ask = stdin.isTTY ? askHidden : undefined;
    addRestoreCommand(program, openForRestore, { stdin, ask, write: writeLine });
  },
  recovered: async (program) => {
    const { addRecoveredCommand } = await import('./backup/restore.js');
    const { withBackup } = await import('./open-database.js');
    addRecoveredCommand(program, withBackup('recovered'), writeLine);
  },
  token: async (program) => {
    const { addTokenCommands } = await import('./token.js');
    const { withCurrentSchema } = await import('./open-database.js');
    addTokenCommands(program, { withDatabase: withCurrentSchema('token'), write: writeLine });
  },
  keys: async (program) => {
    const { addKeysCommand } = await import('./keys/keys.js');
    const { withKeys } = await import('./open-database.js');
    const newMasterKey = process.env.NEW_MASTER_KEY;
    addKeysCommand(program, withKeys, { write: writeLine, newMasterKey });
  },
  ca: async (program) => {
    const { addCaCommands } = await import('./keys/ca.js');
    const { openStoredSecrets: openSecrets, withCurrentSchema } = await import(
      './open-database.js'
    );
    const withDatabase = withCurrentSchema('ca');
    addCaCommands(program, { withDatabase, openSecrets, write: writeLine });
  },
  link: async (program) => {
    const { addLinkCommands } = await import('./link/link.js');
    const { withLinks } = await import('./open-database.js');
    addLinkCommands(program, { withLinks, write: writeLine });
  },
  'push-cert': async (program) => {
    const { addPushCertCommands } = await import('./push-cert/push-cert.js');
    const { withPushCert } = await import('./open-database.js');
    addPushCertCommands(program, withPushCert);
  },
  api: async (program) => {
    const { addApiCommand } = await import('./api/api.js');
    addApiCommand(program, loadConfig, finish);
  },
  schema: async (program) => {
    const { addSchemaCommands } = await import('./schema/schema.js');
    addSchemaCommands(program, writeLine);
  },
  simulate: async (program) => {
    const { addSimulateCommand } = await import('./lab/simulate.js');
    addSimulateCommand(program, defaultUrl(), finish);
  },
  lab: async (program) => {
    const { addLabCommand } = await import('./lab/lab.js');
    addLabCommand(program, openLab);
  },
};

/** With the named command alone; with all of them for help and for an unknown name. */
async function createProgram(name: string | undefined): Promise<Command> {
  const program = new Command('muster')
    .description('manages Apple devices over the MDM protocol')
    .version(version)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR));
  const isKnown = name !== undefined && Object.hasOwn(COMMANDS, name);
  for (const [known, add] of Object.entries(COMMANDS)) {
    if (!isKnown || known === name) await add(program);
  }
  return program;
}

/** Prints the error as one line; with a stack if it is a bug. Returns the exit code. */
function report(error: unknown): number {
  const isKnown = [ConfigError, AppError, LabError, UsageError].some(
    (kind) => error instanceof kind,
  );
  const text = error instanceof Error ? (!isKnown && error.stack) || error.message : String(error);
  process.stderr.write(`muster: ${text}\n`);
  const isUsage = error instanceof ConfigError || error instanceof UsageError;
  return isUsage ? USAGE_ERROR : 1;
}

endWithReader(process.stdout);
createProgram(process.argv[2])
  .then((program) => program.parseAsync())
  .catch((error: unknown) => {
    process.exitCode = report(error);
  });
