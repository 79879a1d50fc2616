import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type PushCertImportOptions,
  pushCertImport,
} from '../../../src/cli/push-cert/push-cert-import.js';
import {
  type PushCertRequestOptions,
  pushCertRequest,
} from '../../../src/cli/push-cert/push-cert-request.js';
import {
  createPushCertServices,
  type PushCertDeps,
} from '../../../src/cli/push-cert/push-cert-services.js';
import { pushCertStatus } from '../../../src/cli/push-cert/push-cert-status.js';
import { AppError } from '../../../src/errors.js';
import { temporaryDirectory } from '../../helpers/temporary-directory.js';

export interface Typed {
  stdin?: string;
  /** What a person answers; nobody is there when absent. */
  answer?: string;
}

export interface Ran {
  lines: string[];
  /** All that was said, as one text. */
  text: string;
  bytes: Buffer;
  questions: string[];
  error: unknown;
}

/** `muster push-cert` in a directory of its own, on this database. */
export function pushCertFixture(deps: PushCertDeps) {
  const services = createPushCertServices(deps);
  const directory = temporaryDirectory();
  let opened = 0;

  async function run(
    work: (io: Parameters<typeof pushCertStatus>[1]) => Promise<void>,
    typed: Typed,
  ) {
    const { stdin = '', answer } = typed;
    const [lines, questions, chunks] = [[] as string[], [] as string[], [] as Buffer[]];
    const ask = async (question: string) => {
      questions.push(question);
      return answer ?? '';
    };
    const io = {
      write: (line: string) => void lines.push(line),
      writeBytes: (bytes: Buffer) => void chunks.push(bytes),
      stdin: Readable.from([Buffer.from(stdin)]),
      ask: answer === undefined ? undefined : ask,
    };
    const error = await work(io).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const text = lines.join('\n');
    return { lines, text, bytes: Buffer.concat(chunks), questions, error } satisfies Ran;
  }

  const open = (work: (given: typeof services) => Promise<void>) => {
    opened += 1;
    return work(services);
  };

  return {
    services,
    file: (name: string) => join(directory, name),
    /** How often the database was asked for. */
    opened: () => opened,
    status: () => run((io) => open((given) => pushCertStatus(given, io)), {}),
    request: (options: PushCertRequestOptions = {}, typed: Typed = {}) =>
      run((io) => pushCertRequest(options, io, open), typed),
    import: (options: PushCertImportOptions = {}, typed: Typed = {}) =>
      run((io) => pushCertImport(options, io, open), typed),
  };
}

/** Code and message of the error that the command ended with. */
export function failureOf({ error }: Ran): [string, string] {
  if (error instanceof AppError) return [error.code, error.message];
  if (error instanceof Error) return [error.name, error.message];
  return ['none', ''];
}
