import { SHORTEST_PASSPHRASE } from '../../config/values.js';
import { UsageError } from '../options.js';
import { type Ask, PasswordPrompt } from '../password.js';

export interface PassphraseSource {
  /** `--passphrase-file`; `-` is standard input. */
  file: string | undefined;
  /** BACKUP_PASSPHRASE. */
  configured: string | undefined;
  stdin: AsyncIterable<Buffer | string>;
  /** Absent without a terminal. */
  ask?: Ask | undefined;
}

const OPTION = '--passphrase-file';

function promptOf({ file, stdin, ask }: PassphraseSource): PasswordPrompt {
  return new PasswordPrompt({ name: OPTION, file }, { stdin, ask });
}

/** The passphrase to encrypt a backup with; undefined: it is not encrypted. */
export async function newPassphrase(source: PassphraseSource): Promise<string | undefined> {
  const { file, configured } = source;
  if (file === undefined) return configured;
  const passphrase = await promptOf(source).get(file);
  if (passphrase.length >= SHORTEST_PASSPHRASE) return passphrase;
  throw new UsageError(`the passphrase must have ${SHORTEST_PASSPHRASE} characters or more`);
}

/** The passphrase of an encrypted backup; asks for it on a terminal. */
export async function passphraseOf(backup: string, source: PassphraseSource): Promise<string> {
  const { file, configured, ask } = source;
  if (file === undefined && configured !== undefined) return configured;
  if (file === undefined && ask === undefined) {
    const message = `${backup} is encrypted: set BACKUP_PASSPHRASE, or pass ${OPTION} FILE`;
    throw new UsageError(message);
  }
  return await promptOf(source).get(backup);
}
