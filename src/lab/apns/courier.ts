import type { IncomingMessage, ServerResponse } from 'node:http';
import { LineReader, readClientLine, writeDoneLine, writePushLine } from './courier-lines.js';
import type { CourierLink, TokenStore } from './token-store.js';

const MAX_CHARACTERS_AT_ONCE = 64 * 1024;

/**
 * One connection of devices: they send their tokens and receive their pushes. Apple calls the hosts
 * that devices connect to for this couriers (1-courier.push.apple.com).
 */
class CourierStream implements CourierLink {
  readonly #store: TokenStore;
  readonly #response: ServerResponse;
  readonly #tokens = new Set<string>();
  /** Tokens of devices with a push to send. */
  readonly #woken = new Set<string>();
  readonly #reader = new LineReader();
  #isWriting = false;

  constructor(store: TokenStore, response: ServerResponse) {
    this.#store = store;
    this.#response = response;
  }

  wake(token: string): void {
    this.#woken.add(token);
    if (this.#isWriting) return;
    this.#isWriting = true;
    setImmediate(() => this.#write());
  }

  /** Throws LabError for a line that no device sends. */
  read(chunk: Buffer): void {
    for (const line of this.#reader.read(chunk)) {
      if (line.trim() !== '') this.#handleLine(line);
    }
  }

  close(): void {
    for (const token of this.#tokens) this.#store.disconnect(token, this);
    this.#tokens.clear();
    this.#woken.clear();
  }

  #handleLine(line: string): void {
    const { id, connect = [], topic = '', disconnect = [], forget = [] } = readClientLine(line);
    for (const token of connect.map(lowerCase)) {
      this.#tokens.add(token);
      this.#store.connect(token, topic, this);
    }
    for (const token of disconnect.map(lowerCase)) {
      this.#tokens.delete(token);
      this.#store.disconnect(token, this);
    }
    for (const token of forget.map(lowerCase)) {
      this.#tokens.delete(token);
      this.#store.forget(token);
    }
    if (id !== undefined) this.#response.write(writeDoneLine(id));
  }

  /** Waits while the connection is full: until written, a push can be replaced by a newer one. */
  #write(): void {
    while (this.#woken.size > 0) {
      if (!this.#response.write(this.#nextLines())) {
        this.#response.once('drain', () => this.#write());
        return;
      }
    }
    this.#isWriting = false;
  }

  #nextLines(): string {
    let lines = '';
    for (const token of this.#woken) {
      this.#woken.delete(token);
      const push = this.#store.deliver(token, this);
      if (push !== undefined) {
        lines += writePushLine({ token, payload: { mdm: push.mdm }, apnsId: push.apnsId });
      }
      if (lines.length > MAX_CHARACTERS_AT_ONCE) break;
    }
    return lines;
  }
}

function lowerCase(token: string): string {
  return token.toLowerCase();
}

/** Serves one connection until it ends; a line that is not understood ends it too. */
export function serveCourier(
  store: TokenStore,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).flushHeaders();
  request.socket.setNoDelay(true);
  const stream = new CourierStream(store, response);
  request.on('data', (chunk: Buffer) => {
    try {
      stream.read(chunk);
    } catch (error) {
      stream.close();
      request.removeAllListeners('data').resume();
      response.end(`${JSON.stringify({ error: (error as Error).message })}\n`);
      request.socket.destroySoon();
    }
  });
  request.on('error', () => undefined);
  request.on('end', () => response.end());
  response.on('error', () => undefined);
  response.on('close', () => stream.close());
}
