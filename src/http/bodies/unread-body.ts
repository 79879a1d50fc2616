import type { IncomingMessage, ServerResponse } from 'node:http';

/** Time for the client to read an answer that came before its body had ended. */
const LINGER_MS = 1_000;
/** Shorter bodies are always read to their end, so that their connection can be reused. */
const SHORT = 64 * 1024;
/** Bodies that are read and discarded at once, for clients that send all before they read. */
const MOST_DISCARDED = 8;

/**
 * Ends the connections of requests whose bodies are still arriving after the answer. Beyond a few at
 * once the rest of a body is not read: its sender keeps it, at no cost of memory or time here.
 */
export class UnreadBodies {
  #discarded = 0;

  /** To be called before the answer is sent. */
  endAfterAnswer(req: IncomingMessage, res: ServerResponse): void {
    res.once('finish', () => {
      if (!req.complete) this.#end(req);
    });
  }

  #end(req: IncomingMessage): void {
    const { socket } = req;
    // Node resumes the connection and discards the rest; setImmediate pauses it after that.
    const isDiscarded = isShort(req) || this.#discarded < MOST_DISCARDED;
    if (!isDiscarded) setImmediate(() => socket.pause());
    if (isDiscarded) this.#discarded += 1;
    setTimeout(() => {
      if (isDiscarded) this.#discarded -= 1;
      if (!req.complete) socket.destroy();
    }, LINGER_MS).unref();
  }
}

function isShort({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Number.NaN) <= SHORT;
}
