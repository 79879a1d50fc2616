import { AppError } from '../errors.js';
import { createWarner, type Logger, type Warner } from '../logger.js';
import { type DeviceMessage, readMessage } from './device-message.js';
import { shortFingerprint } from './identity.js';
import { ReadingBudget } from './reading-budget.js';

/** Almost all bodies are shorter; they are read at once and not counted. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Longer ones could hold up the event loop for more than 10 ms. */
export const MAX_BYTES_AT_ONCE = 64 * 1024;

/** Bytes of large bodies that are read or wait for it: of one identity, and of all. */
const MAX_WAITING_OF_ONE = 16 * 1024 * 1024;
const MAX_WAITING = 128 * 1024 * 1024;

/** Reads a body in another thread, which takes over its memory; `ms` is how long that took. */
export type ReadInThread = (
  raw: Buffer,
  owner: string,
) => Promise<{ output: DeviceMessage; ms: number }>;

export interface MessageReaderDeps {
  readInThread: ReadInThread;
  logger: Logger;
  now?: () => number;
}

const REFUSED =
  'a device sends more large messages than it may; it is answered 503 until it has sent fewer for a ' +
  'minute. If it goes on, revoke its certificate: POST /api/v1/certificates/{id}/revoke';

/** Reads the messages of devices: large ones in a thread, and within each identity's budget. */
export class MessageReader {
  readonly #readInThread: ReadInThread;
  readonly #budget: ReadingBudget;
  readonly #warn: Warner;
  readonly #waitingOf = new Map<string, number>();
  #waiting = 0;

  constructor({ readInThread, logger, now }: MessageReaderDeps) {
    this.#readInThread = readInThread;
    this.#budget = new ReadingBudget(now);
    this.#warn = createWarner(logger, 60_000);
  }

  /** AppError server_busy 503 if the identity would exceed its budget. */
  assertWithinBudget(fingerprint: Buffer, bytes: number): void {
    if (!(bytes > UNCOUNTED_BYTES) || this.#budget.allows(fingerprint, bytes)) return;
    const shown = shortFingerprint(fingerprint);
    const device = this.#budget.deviceOf(fingerprint);
    this.#warn({ fingerprint: shown, device }, REFUSED, shown);
    const message = `the identity ${shown} has sent more large messages than it may`;
    throw new AppError('server_busy', 503, message, { about: { fingerprint: shown } });
  }

  /** Throws as readMessage, and 503 beyond the limits. A large `raw` is empty afterwards. */
  async read(raw: Buffer, fingerprint: Buffer): Promise<DeviceMessage> {
    const bytes = raw.length;
    if (bytes <= UNCOUNTED_BYTES) return readMessage(raw);
    this.assertWithinBudget(fingerprint, bytes);
    this.#budget.spend(fingerprint, { bytes });
    const started = performance.now();
    let ms: number | undefined;
    try {
      const read =
        bytes <= MAX_BYTES_AT_ONCE
          ? { output: readMessage(raw), ms: undefined }
          : await this.#readLarge(raw, fingerprint.toString('latin1'));
      ms = read.ms;
      this.#budget.noteDevice(fingerprint, read.output.ids.deviceKey);
      return read.output;
    } finally {
      // For a message that could not be read, the time in the queue counts too.
      this.#budget.spend(fingerprint, { ms: ms ?? performance.now() - started });
    }
  }

  async #readLarge(raw: Buffer, owner: string): ReturnType<ReadInThread> {
    const bytes = raw.length;
    const waitingOfOwner = this.#waitingOf.get(owner) ?? 0;
    const isFull = this.#waiting + bytes > MAX_WAITING;
    if (isFull || waitingOfOwner + bytes > MAX_WAITING_OF_ONE) {
      throw new AppError('server_busy', 503, 'too many large messages wait to be read');
    }
    this.#addWaiting(owner, bytes);
    try {
      return await this.#readInThread(raw, owner);
    } finally {
      this.#addWaiting(owner, -bytes);
    }
  }

  #addWaiting(owner: string, bytes: number): void {
    this.#waiting += bytes;
    const waiting = (this.#waitingOf.get(owner) ?? 0) + bytes;
    if (waiting === 0) this.#waitingOf.delete(owner);
    else this.#waitingOf.set(owner, waiting);
  }
}
