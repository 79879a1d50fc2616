import cluster, { type Worker } from 'node:cluster';
import type { AddressInfo } from 'node:net';
import { unavailable } from '../errors.js';
import type { Logger } from '../logger.js';
import { CrashLoop } from './crash-loop.js';
import { type FromPrimary, type FromWorker, type MetricsPart, readFromWorker } from './messages.js';

export interface WorkerProcessesDeps {
  /** How many serve at once. */
  count: number;
  /** The file that a worker runs. */
  file: string;
  logger: Logger;
  /** What a worker serves with; a successor gets the port of the first ones. */
  settingsFor(port: number | undefined): unknown;
  /** The metrics of this process. */
  ownMetrics(): Promise<MetricsPart>;
}

interface Member {
  number: number;
  worker: Worker;
  isServing: boolean;
  /** Exit reason that the worker reported. */
  failure: string | undefined;
  deadline: NodeJS.Timeout;
}

interface Collection {
  waiting: Set<Member>;
  parts: MetricsPart[];
  finish(): void;
}

/** One that is not serving by then is ended. */
const START_MS = 60_000;
/** For what a worker has under way when the server stops. */
const STOP_MS = 7_000;
const COLLECT_MS = 2_000;

/** The workers of this process, which is their primary: starts them, replaces those that end, and stops them. */
export class WorkerProcesses {
  readonly #deps: WorkerProcessesDeps;
  readonly #members = new Set<Member>();
  readonly #collections = new Map<number, Collection>();
  readonly #loop = new CrashLoop();
  readonly #serving: PromiseWithResolvers;
  readonly #failed: PromiseWithResolvers;
  #address: AddressInfo | undefined;
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  #requests = 0;
  #onEmpty: (() => void) | undefined;

  constructor(deps: WorkerProcessesDeps) {
    this.#deps = deps;
    this.#serving = withResolvers();
    this.#failed = withResolvers();
  }

  /** Rejects when the workers end again and again. */
  get failed(): Promise<never> {
    return this.#failed.promise as Promise<never>;
  }

  /** Resolves when all serve; AppError `unavailable` with the reason when one of them can not. */
  async start(): Promise<AddressInfo> {
    const { count, file } = this.#deps;
    // Workers accept by themselves: not when the jobs of this process let them, and none that a dead one was given.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ exec: file, args: [], serialization: 'advanced' });
    for (let number = 1; number <= count; number += 1) this.#fork(number);
    await this.#serving.promise;
    this.#phase = 'serving';
    return this.#address as AddressInfo;
  }

  /** Has the workers finish what is under way; ends what takes longer. */
  async stop(): Promise<void> {
    this.#phase = 'stopping';
    if (this.#members.size === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const member of this.#members) send(member, { kind: 'stop' });
    const timer = setTimeout(() => {
      for (const { worker } of this.#members) worker.process.kill('SIGKILL');
    }, STOP_MS);
    await empty;
    clearTimeout(timer);
  }

  #fork(number: number): void {
    const worker = cluster.fork();
    const deadline = setTimeout(() => {
      member.failure = `it did not serve within ${START_MS / 1_000} s`;
      worker.process.kill('SIGKILL');
    }, START_MS);
    const member: Member = { number, worker, isServing: false, failure: undefined, deadline };
    this.#members.add(member);
    worker.on('message', (message: unknown) => {
      const known = readFromWorker(message);
      if (known !== undefined) this.#hear(member, known);
    });
    // What is sent to one that has just ended; its exit follows.
    worker.on('error', () => undefined);
    worker.once('exit', (code, signal) => this.#onExit(member, signal ?? `exit code ${code}`));
  }

  #hear(member: Member, message: FromWorker): void {
    switch (message.kind) {
      case 'ready': {
        const settings = this.#deps.settingsFor(this.#address?.port);
        send(member, { kind: 'start', number: member.number, settings });
        return;
      }
      case 'serving':
        this.#onServing(member, message);
        return;
      case 'failed':
        member.failure = message.message;
        return;
      case 'failure':
        for (const other of this.#others(member)) send(other, message);
        return;
      case 'metrics':
        this.#collect(member, message);
        return;
      case 'metrics_wanted':
        void this.#answerMetrics(member, message.request);
        return;
    }
  }

  #onServing(member: Member, { address, port, family }: AddressInfo): void {
    clearTimeout(member.deadline);
    member.isServing = true;
    this.#address ??= { address, port, family };
    const { number, worker } = member;
    this.#deps.logger.debug({ worker: number, workerPid: worker.process.pid }, 'a worker serves');
    if (this.#members.size === this.#deps.count && [...this.#members].every((one) => one.isServing))
      this.#serving.resolve();
  }

  #onExit(member: Member, how: string): void {
    clearTimeout(member.deadline);
    this.#members.delete(member);
    for (const collection of this.#collections.values()) forget(collection, member);
    if (this.#phase === 'stopping') {
      if (this.#members.size === 0) this.#onEmpty?.();
      return;
    }
    const { number, failure } = member;
    const why = failure ?? how;
    if (this.#phase === 'starting') {
      this.#serving.reject(unavailable(`worker ${number} could not start: ${why}`));
      return;
    }
    const fields = { worker: number, workerPid: member.worker.process.pid, reason: why };
    if (this.#loop.note(performance.now())) {
      this.#deps.logger.fatal(fields, 'workers end again and again: the server stops');
      const detail = `workers end again and again; the last one: ${why}. The log says more`;
      this.#failed.reject(unavailable(detail));
      return;
    }
    this.#deps.logger.error(
      fields,
      'a worker has ended and is replaced; what it was answering is lost, devices ask again',
    );
    this.#fork(number);
  }

  /** To one worker the metrics of all other processes. */
  async #answerMetrics(member: Member, request: number): Promise<void> {
    const collected = this.#collectFrom(this.#others(member).filter((one) => one.isServing));
    const [own, others] = await Promise.all([this.#deps.ownMetrics(), collected]);
    send(member, { kind: 'metrics', request, parts: [own, ...others] });
  }

  #collectFrom(members: readonly Member[]): Promise<MetricsPart[]> {
    this.#requests += 1;
    const request = this.#requests;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#collections.delete(request);
        resolve(collection.parts);
      };
      const collection: Collection = { waiting: new Set(members), parts: [], finish };
      const timer = setTimeout(finish, COLLECT_MS);
      this.#collections.set(request, collection);
      for (const member of members) send(member, { kind: 'metrics_wanted', request });
      if (members.length === 0) finish();
    });
  }

  #collect(member: Member, { request, parts }: Extract<FromWorker, { kind: 'metrics' }>): void {
    const collection = this.#collections.get(request);
    if (collection === undefined) return;
    collection.parts.push(...parts);
    forget(collection, member);
  }

  #others(member: Member): Member[] {
    return [...this.#members].filter((other) => other !== member);
  }
}

function forget(collection: Collection, member: Member): void {
  if (collection.waiting.delete(member) && collection.waiting.size === 0) collection.finish();
}

function send({ worker }: Member, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve = () => {};
  let reject = (_error: unknown) => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
