import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/config.js';
import { SecretBox } from '../../crypto/secrets/secret-box.js';
import type { Database } from '../../db/connection/database.js';
import type { Transaction } from '../../db/connection/unit-of-work.js';
import { readMasterKeyChange, readRotation } from '../../db/pki/reseal-repository.js';
import { AppError } from '../../errors.js';
import { writeAudit } from '../../events/audit.js';
import type { Logger } from '../../logger.js';
import { isMasterKey, masterKeyId } from '../../pki/master-key/master-key.js';
import { type Rotated, rotateMasterKey } from '../../pki/master-key/rotate-master-key.js';
import { rotationKeys } from '../../pki/master-key/rotation-keys.js';
import { cliContext } from '../audit-cli.js';
import { UsageError } from '../options.js';
import type { WriteLine } from '../table.js';

export interface KeysIo {
  config: Pick<Config, 'dataDir' | 'masterKey'>;
  db: Database;
  logger: Logger;
  write: WriteLine;
}

export interface RotateArgs {
  newKeyFile?: string | undefined;
  skipUnreadable?: boolean | undefined;
}

const KEY = /^[A-Za-z0-9+/]{43}=$/;

function parseKey(text: string, where: string): Buffer {
  if (KEY.test(text.trim())) return Buffer.from(text.trim(), 'base64');
  throw new AppError('bad_request', 400, `${where} does not hold 32 bytes in base64`);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--new-key-file cannot be read (${(error as Error).message})`);
  }
}

function newKey(file: string | undefined, variable: string | undefined): Buffer | undefined {
  if (file !== undefined) return parseKey(readKeyFile(file), file);
  return variable ? parseKey(variable, 'NEW_MASTER_KEY') : undefined;
}

function auditRotation(trx: Transaction, rotated: Rotated): Promise<void> {
  return writeAudit(trx, {
    context: cliContext(),
    action: 'keys.rotate_master',
    targetType: 'keys',
    targetId: null,
    outcome: 'success',
    details: { ...rotated },
  });
}

/** `variable`: NEW_MASTER_KEY of the environment. */
export async function keysRotateMaster(
  io: KeysIo,
  { newKeyFile, skipUnreadable = false }: RotateArgs,
  variable?: string,
): Promise<void> {
  const { config, db, logger, write } = io;
  const keys = rotationKeys({ config, logger, given: newKey(newKeyFile, variable) });
  await rotateMasterKey({ db, keys, skipUnreadable, write, onFinish: auditRotation });
  write(
    'Enrollment profiles that were fetched but not installed yet hold a challenge that is no longer ' +
      'good: fetch them again.',
  );
}

/** Prints where the master key is, which one it is, and whether the database is sealed under it. */
export async function keysStatus({ config, db, logger, write }: KeysIo): Promise<void> {
  const keys = rotationKeys({ config, logger });
  const box = new SecretBox(keys.former());
  const rotation = await readRotation(db.knex);
  write(`master key  ${masterKeyId(box)}, from ${keys.place}`);
  if (rotation !== undefined) {
    const since = rotation.startedAt.toISOString();
    write(`rotation    unfinished since ${since}: run \`muster keys rotate-master\` again`);
    return;
  }
  write(`database    ${await databaseState(db, box)}`);
  const next = keys.next();
  if (next === undefined) return;
  const nextBox = new SecretBox(next);
  const isDone = (await isMasterKey(db, nextBox)) === true;
  write(`new key     ${masterKeyId(nextBox)}${isDone ? ', which the database is under' : ''}`);
  if (isDone) write('rotation    unfinished: run `muster keys rotate-master` again');
}

async function databaseState(db: Database, box: SecretBox): Promise<string> {
  const fits = await isMasterKey(db, box);
  if (fits === undefined) return 'holds no secrets yet';
  if (fits) return 'is under this key';
  const change = await readMasterKeyChange(db.knex);
  if (change === undefined) return 'is under another key';
  return `is under another key: ${change.present}, since ${change.changedAt.toISOString()}`;
}

export type WithDatabase = (work: (io: Omit<KeysIo, 'write'>) => Promise<void>) => Promise<void>;

/** `muster keys …`. */
export function addKeysCommand(
  program: Command,
  withDatabase: WithDatabase,
  { write, newMasterKey }: { write: WriteLine; newMasterKey: string | undefined },
): void {
  const keys = program.command('keys').description('the key that seals every secret');
  keys
    .command('status')
    .description('show which master key is in use and where it is')
    .action(() => withDatabase((io) => keysStatus({ ...io, write })));
  keys
    .command('rotate-master')
    .description('seal every secret under a new master key; the server must be stopped')
    .option('--new-key-file <file>', 'the new key, where MASTER_KEY is set (or NEW_MASTER_KEY)')
    .option('--skip-unreadable', 'leave secrets that do not open as they are')
    .action((args: RotateArgs) =>
      withDatabase((io) => keysRotateMaster({ ...io, write }, args, newMasterKey)),
    );
}
