import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { CourierBatches } from './courier-batches.js';
import {
  type CourierOperation,
  type CourierPush,
  LineReader,
  readServerLine,
} from './courier-lines.js';

/** Must not throw. */
export type PushListener = (push: CourierPush) => void;

export interface CourierClientOptions {
  /** Base URL of the courier, or a function that finds it: it changes when the lab restarts. */
  url: string | (() => Promise<string>);
  /** Ends it as `close` does. */
  signal?: AbortSignal;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;

interface Device {
  topic: string;
  listener: PushListener;
}

/**
 * One connection for a whole fleet, made in the background and restored when it breaks, its devices
 * with it; pushes that came meanwhile are delivered then. The promises resolve when the courier has
 * confirmed, however long that takes, or when the client is closed; they never reject.
 */
export class CourierClient {
  readonly #options: CourierClientOptions;
  readonly #devices = new Map<string, Device>();
  readonly #batches = new CourierBatches();
  #request: ClientRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isFlushing = false;
  #isClosed = false;
  #isConnected = false;

  constructor(options: CourierClientOptions) {
    this.#options = options;
    options.signal?.addEventListener('abort', () => void this.close(), { once: true });
    if (options.signal?.aborted) this.#isClosed = true;
    else void this.#open();
  }

  /** Whether there is a connection at this moment. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** From now on pushes to this token reach the listener, a waiting one first. */
  connect(token: string, topic: string, listener: PushListener): Promise<void> {
    this.#devices.set(token.toLowerCase(), { topic, listener });
    return this.#send({ name: 'connect', topic }, token);
  }

  /** The device is away: the newest push waits for it. */
  disconnect(token: string): Promise<void> {
    this.#devices.delete(token.toLowerCase());
    return this.#send({ name: 'disconnect' }, token);
  }

  /** The device no longer uses the token: pushes to it are answered 410. */
  forget(token: string): Promise<void> {
    this.#devices.delete(token.toLowerCase());
    return this.#send({ name: 'forget' }, token);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#isConnected = false;
    clearTimeout(this.#timer);
    this.#request?.destroy();
    this.#batches.confirmAll();
    return Promise.resolve();
  }

  #send(operation: CourierOperation, token: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const done = this.#batches.add(operation, token.toLowerCase());
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(() => this.#flush());
    }
    return done;
  }

  #flush(): void {
    this.#isFlushing = false;
    if (!this.#isConnected) return;
    for (const line of this.#batches.nextLines()) this.#request?.write(line);
  }

  async #open(): Promise<void> {
    const { url } = this.#options;
    try {
      const base = typeof url === 'string' ? url : await url();
      if (!this.#isClosed) this.#start(new URL('/courier', base));
    } catch {
      this.#retryLater();
    }
  }

  #start(url: URL): void {
    const stream = request(url, { method: 'POST', agent: false });
    this.#request = stream;
    stream.on('response', (response) => this.#read(stream, response));
    stream.on('error', () => undefined); // 'close' follows
    stream.on('close', () => this.#onLost());
    stream.setNoDelay(true);
    stream.flushHeaders();
  }

  #read(stream: ClientRequest, response: IncomingMessage): void {
    if (response.statusCode !== 200) {
      stream.destroy();
      return;
    }
    const reader = new LineReader();
    response.on('data', (chunk: Buffer) => {
      for (const line of linesOf(reader, chunk, stream)) this.#handleLine(line);
    });
    response.on('error', () => undefined);
    response.on('end', () => stream.destroy());
    this.#onConnected();
  }

  #onConnected(): void {
    this.#isConnected = true;
    this.#delayMs = FIRST_DELAY_MS;
    this.#batches.rejoin([...this.#devices].map(([token, { topic }]) => ({ token, topic })));
    this.#flush();
  }

  #handleLine(text: string): void {
    const line = readServerLine(text);
    if (line === undefined) return;
    if ('done' in line) this.#batches.confirm(line.done);
    else this.#devices.get(line.token)?.listener(line);
  }

  #onLost(): void {
    this.#isConnected = false;
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    const delayMs = this.#delayMs * (0.75 + Math.random() / 2);
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS);
    this.#timer = setTimeout(() => void this.#open(), delayMs);
  }
}

/** A line that is too long ends the connection. */
function linesOf(reader: LineReader, chunk: Buffer, stream: ClientRequest): string[] {
  try {
    return reader.read(chunk);
  } catch {
    stream.destroy();
    return [];
  }
}
