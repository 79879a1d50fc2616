import type { AddressInfo } from 'node:net';
import { type Failure, type FromWorker, type MetricsPart, readFromPrimary } from './messages.js';

type OnFailure = (key: string, count: number) => void;

export interface StartOrder {
  number: number;
  settings: unknown;
}

/** The metrics of a primary that does not answer are left out. */
const METRICS_MS = 4_000;

/** A worker's side of the channel to its primary. */
export class PrimaryLink {
  readonly #onFailure = new Map<string, OnFailure>();
  readonly #metrics = new Map<number, (parts: MetricsPart[]) => void>();
  #onStart: ((order: StartOrder) => void) | undefined;
  #ownMetrics: (() => Promise<MetricsPart>) | undefined;
  #requests = 0;

  /** `onStop` is called when the primary has this worker stop. */
  constructor(onStop: () => void) {
    process.on('message', (message: unknown) => {
      const known = readFromPrimary(message);
      if (known === undefined) return;
      switch (known.kind) {
        case 'start':
          this.#onStart?.(known);
          return;
        case 'stop':
          onStop();
          return;
        case 'failure':
          this.#onFailure.get(known.limit)?.(known.key, known.count);
          return;
        case 'metrics':
          this.#metrics.get(known.request)?.(known.parts);
          return;
        case 'metrics_wanted':
          void this.#sendMetrics(known.request);
          return;
      }
    });
  }

  /** Resolves with what the primary has this worker serve with. */
  start(): Promise<StartOrder> {
    return new Promise((resolve) => {
      this.#onStart = resolve;
      send({ kind: 'ready' });
    });
  }

  reportServing({ address, port, family }: AddressInfo): void {
    send({ kind: 'serving', address, port, family });
  }

  /** Resolves when the primary has received the reason why this worker ends. */
  reportFailed(message: string): Promise<void> {
    return new Promise((resolve) => {
      send({ kind: 'failed', message }, resolve);
    });
  }

  /** The metrics of this process, for another one that shows the sum of all. */
  showsMetrics(own: () => Promise<MetricsPart>): void {
    this.#ownMetrics = own;
  }

  /** The metrics of all other processes; none of one that does not answer in time. */
  otherMetrics(): Promise<MetricsPart[]> {
    this.#requests += 1;
    const request = this.#requests;
    return new Promise((resolve) => {
      const finish = (parts: MetricsPart[]) => {
        clearTimeout(timer);
        this.#metrics.delete(request);
        resolve(parts);
      };
      const timer = setTimeout(() => finish([]), METRICS_MS);
      this.#metrics.set(request, finish);
      send({ kind: 'metrics_wanted', request });
    });
  }

  /** Has the other processes count a failed attempt, too. */
  reportFailure(failure: Omit<Failure, 'kind'>): void {
    send({ kind: 'failure', ...failure });
  }

  /** `listener` is called for each attempt that another process counts under the name `limit`. */
  onFailure(limit: string, listener: OnFailure): void {
    this.#onFailure.set(limit, listener);
  }

  async #sendMetrics(request: number): Promise<void> {
    const own = await this.#ownMetrics?.();
    send({ kind: 'metrics', request, parts: own === undefined ? [] : [own] });
  }
}

/** `done` is called in any case: without a primary this process ends. */
function send(message: FromWorker, done: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, {}, done);
  else done();
}
