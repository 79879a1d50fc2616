import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { AppError } from '../errors.js';
import { UsageError } from './options.js';

/** Asks a person; resolves with what was typed. */
export type Ask = (question: string) => Promise<string>;

export interface PasswordInput {
  stdin: AsyncIterable<Buffer | string>;
  /** Absent without a terminal. */
  ask?: Ask | undefined;
}

export interface PasswordOption {
  /** The option that names the file, for messages. */
  name: string;
  file: string | undefined;
}

/** One password for the files of a command: from a file, standard input, or the person at the keyboard. */
export class PasswordPrompt {
  #password: Promise<string> | undefined;

  constructor(
    private readonly option: PasswordOption,
    private readonly input: PasswordInput,
  ) {}

  get isFromFile(): boolean {
    return this.option.file !== undefined;
  }

  /** Asks once, for all files. */
  get(file: string): Promise<string> {
    this.#password ??= this.#read(file);
    return this.#password;
  }

  async #read(file: string): Promise<string> {
    const { option, input } = this;
    if (option.file === '-') return firstLine(await readAll(input.stdin));
    if (option.file !== undefined) return firstLine(await readText(option.file));
    if (input.ask !== undefined) return input.ask(`Password of ${file}: `);
    throw new UsageError(
      `${file} is encrypted: pass its password in a file by ${option.name} FILE (- reads standard input)`,
    );
  }
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}

async function readAll(stdin: PasswordInput['stdin']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

async function readText(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((cause: Error) => {
    throw new AppError('bad_request', 400, `${file} cannot be read (${cause.message})`, { cause });
  });
}

/** Asks on the terminal without echo. */
export const askHidden: Ask = (question) => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  return new Promise<string>((resolve, reject) => {
    reader.once('SIGINT', () => reader.close());
    reader.once('close', () => reject(new UsageError('no password was entered')));
    reader.question('', (answer) => {
      resolve(answer);
      reader.close();
    });
  }).finally(() => process.stderr.write('\n'));
};
