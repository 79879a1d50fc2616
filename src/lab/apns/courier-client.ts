import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { CourierBatches, type CourierOperation } from './courier-batches.js';
import { type CourierPush, readServerLine } from './courier-lines.js';
import { LineReader } from './line-reader.js';

/** Must not throw. */
export type PushListener = (push: CourierPush) => void;

export interface CourierClientOptions {
  /** Of the courier, or where to ask for it each time: after a restart it lies elsewhere. */
  url: string | (() => Promise<string>);
  /** Ends it as `close` does. */
  signal?: AbortSignal;
}

/**
 * One connection for a whole fleet. It is restored when it breaks, and its devices with it; pushes
 * that came meanwhile are delivered then. The promises resolve when the courier has obeyed, however
 * long that takes, or when the client is closed; they never reject.
 */
export interface CourierClient {
  /** Whether the connection stands at this moment. */
  readonly isConnected: boolean;
  /** From now on pushes to this token come to the listener, one that waits there first. */
  connect(token: string, topic: string, listener: PushListener): Promise<void>;
  /** The device is away: the newest push waits for it. */
  disconnect(token: string): Promise<void>;
  /** The device gives the token up for good: whoever pushes to it is told 410. */
  forget(token: string): Promise<void>;
  close(): Promise<void>;
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

interface Device {
  topic: string;
  listener: PushListener;
}

class ReconnectingCourier implements CourierClient {
  readonly #options: CourierClientOptions;
  readonly #devices = new Map<string, Device>();
  readonly #batches = new CourierBatches();
  #request: ClientRequest | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isFlushing = false;
  #isClosed = false;
  isConnected = false;

  constructor(options: CourierClientOptions) {
    this.#options = options;
    options.signal?.addEventListener('abort', () => void this.close(), { once: true });
    if (options.signal?.aborted) this.#isClosed = true;
    else void this.#open();
  }

  connect(token: string, topic: string, listener: PushListener): Promise<void> {
    this.#devices.set(token.toLowerCase(), { topic, listener });
    return this.#do({ name: 'connect', topic }, token);
  }

  disconnect(token: string): Promise<void> {
    this.#devices.delete(token.toLowerCase());
    return this.#do({ name: 'disconnect' }, token);
  }

  forget(token: string): Promise<void> {
    this.#devices.delete(token.toLowerCase());
    return this.#do({ name: 'forget' }, token);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.isConnected = false;
    clearTimeout(this.#timer);
    this.#request?.destroy();
    this.#batches.settleAll();
    return Promise.resolve();
  }

  #do(operation: CourierOperation, token: string): Promise<void> {
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
    if (!this.isConnected) return;
    for (const line of this.#batches.take()) this.#request?.write(line);
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
      for (const line of linesOf(reader, chunk, stream)) this.#obey(line);
    });
    response.on('error', () => undefined);
    response.on('end', () => stream.destroy());
    this.#onConnected();
  }

  #onConnected(): void {
    this.isConnected = true;
    this.#delayMs = FIRST_DELAY_MS;
    this.#batches.rejoin([...this.#devices].map(([token, { topic }]) => ({ token, topic })));
    this.#flush();
  }

  #obey(text: string): void {
    const line = readServerLine(text);
    if (line === undefined) return;
    if ('done' in line) this.#batches.settle(line.done);
    else this.#devices.get(line.token)?.listener(line);
  }

  #onLost(): void {
    this.isConnected = false;
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    const delayMs = this.#delayMs * (0.75 + Math.random() / 2);
    this.#delayMs = Math.min(this.#delayMs * 2, LONGEST_DELAY_MS);
    this.#timer = setTimeout(() => void this.#open(), delayMs);
  }
}

/** Whoever sends lines that long is no courier. */
function linesOf(reader: LineReader, chunk: Buffer, stream: ClientRequest): string[] {
  try {
    return reader.read(chunk);
  } catch {
    stream.destroy();
    return [];
  }
}

/** Connects in the background, again and again until it succeeds. */
export function connectCourier(options: CourierClientOptions): CourierClient {
  return new ReconnectingCourier(options);
}
