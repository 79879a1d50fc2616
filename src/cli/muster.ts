#!/usr/bin/env node
import { Command } from 'commander';
import { version } from '../../package.json';
import { type Config, ConfigError, loadConfig, withHttps } from '../config/config.js';
import { migrate, migrationStatus, rollback } from '../db/schema/migrate.js';
import { AppError } from '../errors.js';
import { LabError } from '../lab/wire/lab-error.js';
import { createLogger } from '../logger.js';
import { checkMasterKey } from '../pki/master-key/master-key.js';
import { openTlsCertificates } from '../pki/tls/tls-certificates.js';
import { openDatabase, openSecrets } from '../server/main.js';
import { addApiCommand } from './api/api.js';
import { addCaCommands } from './ca.js';
import { addKeysCommand, type WithDatabase } from './keys.js';
import { addLabCommand, type LabIo } from './lab/lab.js';
import { addSimulateCommand } from './lab/simulate.js';
import { addLinkCommands, type LinkIo } from './link.js';
import { UsageError } from './options.js';
import { endWithReader } from './process-failures.js';
import { addPushCertCommands } from './push-cert/push-cert.js';
import type { OpenPushCert } from './push-cert/push-cert-services.js';
import { serveCommand } from './serve.js';
import { tokenCreate, tokenList, tokenRevoke } from './token.js';

const USAGE_ERROR = 2;

function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

function readConfig(): Config {
  return loadConfig(process.env, process.cwd());
}

/**
 * Turns the lab on and logs warnings to standard error, or more if LOG_LEVEL asks for it. LOG_LEVEL=info
 * in a `.env` does not count: .env.example sets it.
 */
function openLab(): Pick<LabIo, 'config' | 'logger'> {
  const config = loadConfig({ ...process.env, LAB: 'on' }, process.cwd());
  const isSet = Boolean(process.env.LOG_LEVEL?.trim()) || config.logLevel !== 'info';
  return { config, logger: createLogger(isSet ? config.logLevel : 'warn', process.stderr) };
}

/** Opens the running server's database, or starts the embedded one for this command. */
async function withDatabase(
  work: (db: Awaited<ReturnType<typeof openDatabase>>['db']) => Promise<void>,
): Promise<void> {
  const config = readConfig();
  const logger = createLogger('warn');
  const { db, close } = await openDatabase(config, logger, { mode: 'use' });
  try {
    await work(db);
  } finally {
    await close();
  }
}

/** As `withDatabase`, with the configuration of the master key. */
const withKeys: WithDatabase = (work) => {
  const [config, logger] = [readConfig(), createLogger('warn')];
  return withDatabase((db) => work({ config, db, logger }));
};

/** As `withDatabase`, with the schema up to date. */
function withMigrated(work: Parameters<typeof withDatabase>[0]): Promise<void> {
  return withDatabase(async (db) => {
    await migrate(db, { logger: createLogger('warn') });
    await work(db);
  });
}

/** As `withMigrated`, with the stored secrets open and the URL that devices use. */
const withLinks: LinkIo['withLinks'] = (work) => {
  const config = readConfig();
  return withMigrated(async (db) => {
    const logger = createLogger('warn', process.stderr);
    const box = await openSecrets(config, db, logger);
    await checkMasterKey(db, box);
    const silent = createLogger('fatal', process.stderr);
    const { servesTls } = await openTlsCertificates({ config, db, box, logger: silent });
    const { publicUrl } = servesTls ? withHttps(config) : config;
    await work({ db, box, publicUrl });
  });
};

/** As `withMigrated`, with the stored secrets open. */
const withPushCert: OpenPushCert = (work) => {
  const config = readConfig();
  return withMigrated(async (db) => {
    const box = await openSecrets(config, db, createLogger('warn', process.stderr));
    await checkMasterKey(db, box);
    const { createPushCertServices } = await import('./push-cert/push-cert-services.js');
    await work(createPushCertServices({ db, box, config }));
  });
};

function addTokenCommands(program: Command): void {
  const token = program.command('token').description('tokens of the admin API');
  token
    .command('create')
    .description('make a token and print it, this once')
    .requiredOption('--name <name>', 'whose it is')
    .requiredOption('--role <role>', 'viewer, operator or admin')
    .option('--expires <when>', 'like 12h or 30d, or a date; never when left out')
    .action((args) => withMigrated((db) => tokenCreate(db, args, writeLine)));
  token
    .command('list')
    .description('show all tokens, without their values')
    .action((args) => withMigrated((db) => tokenList(db, args, writeLine)));
  token
    .command('revoke')
    .argument('<id or name>')
    .description('revoke a token')
    .action((token: string) => withMigrated((db) => tokenRevoke(db, { token }, writeLine)));
}

function addMigrateCommand(program: Command): void {
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

/** URL of the configured server; `serve` reports a faulty configuration. */
function defaultUrl(): string {
  try {
    return readConfig().publicUrl;
  } catch (error) {
    if (error instanceof ConfigError) return 'http://localhost:8080';
    throw error;
  }
}

function createProgram(): Command {
  const program = new Command('muster')
    .description('manages Apple devices over the MDM protocol')
    .version(version);
  program
    .command('serve')
    .description('run the server until it is stopped')
    .action(async () => {
      const config = readConfig();
      await serveCommand(config, createLogger(config.logLevel));
    });
  addMigrateCommand(program);
  addTokenCommands(program);
  addKeysCommand(program, withKeys, {
    write: writeLine,
    newMasterKey: process.env.NEW_MASTER_KEY,
  });
  addCaCommands(program, {
    withDatabase: withMigrated,
    openSecrets: (db) => openSecrets(readConfig(), db, createLogger('warn')),
    write: writeLine,
  });
  addLinkCommands(program, { withLinks, write: writeLine });
  addPushCertCommands(program, withPushCert);
  const finish = (code: number) => {
    process.exitCode = code;
  };
  addApiCommand(program, readConfig, finish);
  addSimulateCommand(program, defaultUrl(), finish);
  addLabCommand(program, openLab);
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
createProgram()
  .parseAsync()
  .catch((error: unknown) => {
    process.exitCode = report(error);
  });
