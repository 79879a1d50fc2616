import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type TransferListItem, Worker, type WorkerOptions } from 'node:worker_threads';
import { AppError } from '../errors.js';
import type { FromThread, TaskInput, TaskName, TaskOutput } from './tasks.js';
import { readError } from './thread-values.js';

/** One core remains for the event loop. */
const MAX_THREADS = 2;
/** Any document within the limits of the parsers takes less than a tenth of it. */
const TIME_LIMIT_MS = 20_000;
/** A document of 8 MB and 500,000 values takes 150 MB. */
const MEMORY: WorkerOptions['resourceLimits'] = { maxOldGenerationSizeMb: 512 };

export interface ThreadPoolOptions {
  size?: number | undefined;
  timeLimitMs?: number | undefined;
}

export interface TaskOptions {
  /** Tasks of one owner run one at a time, so that they do not delay others. */
  owner?: string | undefined;
  /** Buffers whose memory is transferred instead of copied; here they are empty afterwards. */
  transfer?: readonly TransferListItem[] | undefined;
}

export interface TaskResult<T> {
  output: T;
  /** How long the thread worked on it. */
  ms: number;
}

interface Queued {
  name: TaskName;
  input: unknown;
  options: TaskOptions;
  resolve: (result: TaskResult<unknown>) => void;
  reject: (error: unknown) => void;
}

interface Thread {
  worker: Worker;
  task: Queued | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Threads for work that would block the event loop, such as parsing large property lists. The first
 * tasks start them, and they stay. A task that fails, or takes too much time or memory, rejects with
 * AppError; a thread that ended is replaced.
 */
export class ThreadPool {
  readonly #size: number;
  readonly #timeLimitMs: number;
  readonly #threads = new Set<Thread>();
  readonly #queue: Queued[] = [];
  readonly #busyOwners = new Set<string>();
  #isClosed = false;

  constructor({ size, timeLimitMs = TIME_LIMIT_MS }: ThreadPoolOptions = {}) {
    this.#size = size ?? Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1));
    this.#timeLimitMs = timeLimitMs;
  }

  run<Name extends TaskName>(
    name: Name,
    input: TaskInput<Name>,
    options: TaskOptions = {},
  ): Promise<TaskResult<TaskOutput<Name>>> {
    if (this.#isClosed) return Promise.reject(unavailable('the server is stopping'));
    return new Promise((resolve, reject) => {
      this.#queue.push({ name, input, options, resolve: resolve as Queued['resolve'], reject });
      this.#startTasks();
    });
  }

  /** Ends the threads. Their unfinished tasks reject with AppError 503. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#queue.splice(0)) reject(unavailable('the server is stopping'));
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #startTasks(): void {
    for (;;) {
      const index = this.#queue.findIndex(({ options }) => !this.#isBusy(options.owner));
      if (index < 0) return;
      const thread = this.#freeThread();
      if (thread === undefined) return;
      const [task] = this.#queue.splice(index, 1);
      if (task !== undefined) this.#start(thread, task);
    }
  }

  #isBusy(owner: string | undefined): boolean {
    return owner !== undefined && this.#busyOwners.has(owner);
  }

  #freeThread(): Thread | undefined {
    for (const thread of this.#threads) if (thread.task === undefined) return thread;
    return this.#threads.size < this.#size ? this.#startThread() : undefined;
  }

  #startThread(): Thread {
    const thread: Thread = { worker: startWorker(), task: undefined, timer: undefined };
    const { worker } = thread;
    worker.unref();
    worker.on('message', (message: FromThread) => this.#finish(thread, message));
    worker.on('error', (error) => this.#lose(thread, failureOf(error)));
    worker.on('exit', () => this.#lose(thread, unavailable('the thread ended')));
    this.#threads.add(thread);
    return thread;
  }

  #start(thread: Thread, task: Queued): void {
    const { name, input, options } = task;
    thread.task = task;
    thread.timer = setTimeout(() => {
      this.#lose(thread, tooMuch('time'));
      void thread.worker.terminate();
    }, this.#timeLimitMs);
    thread.timer.unref();
    if (options.owner !== undefined) this.#busyOwners.add(options.owner);
    thread.worker.postMessage({ name, input }, options.transfer ?? []);
  }

  #finish(thread: Thread, message: FromThread): void {
    const task = this.#release(thread);
    if (message.error !== undefined) task?.reject(readError(message.error));
    else task?.resolve({ output: message.output, ms: message.ms });
    this.#startTasks();
  }

  /** A task that ended its thread would end the next one too: it is not retried. */
  #lose(thread: Thread, failure: AppError): void {
    if (!this.#threads.delete(thread)) return;
    this.#release(thread)?.reject(failure);
    if (!this.#isClosed) this.#startTasks();
  }

  #release(thread: Thread): Queued | undefined {
    const { task, timer } = thread;
    clearTimeout(timer);
    thread.task = undefined;
    if (task?.options.owner !== undefined) this.#busyOwners.delete(task.options.owner);
    return task;
  }
}

function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', 503, message, { cause });
}

function tooMuch(what: 'memory' | 'time'): AppError {
  return new AppError('payload_too_large', 413, `reading it takes too much ${what}`);
}

function failureOf(error: Error): AppError {
  const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isFull ? tooMuch('memory') : unavailable('a thread failed', error);
}

/** The compiled file if it exists; from the sources, as in tests, tsx compiles it. */
function startWorker(): Worker {
  const compiled = join(__dirname, 'thread.js');
  // Without Node's arguments of the process: what they import may not work in a thread.
  if (existsSync(compiled)) return new Worker(compiled, { resourceLimits: MEMORY, execArgv: [] });
  const execArgv = ['--require', require.resolve('tsx/cjs')];
  return new Worker(join(__dirname, 'thread.ts'), { resourceLimits: MEMORY, execArgv });
}
