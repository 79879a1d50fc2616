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
          void this.#tellMetrics(known.request);
          return;
      }
    });
  }

  /** Resolves with what the primary has this worker serve with. */
  start(): Promise<StartOrder> {
    return new Promise((resolve) => {
      this.#onStart = resolve;
      tell({ kind: 'ready' });
    });
  }

  tellServing({ address, port, family }: AddressInfo): void {
    tell({ kind: 'serving', address, port, family });
  }

  /** Resolves when the primary has been told why this worker ends. */
  tellFailed(message: string): Promise<void> {
    return new Promise((resolve) => {
      send({ kind: 'failed', message }, resolve);
    });
  }

  /** What this process tells of itself when another one shows the metrics of all. */
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
      tell({ kind: 'metrics_wanted', request });
    });
  }

  /** Has the other processes count a failed attempt, too. */
  tellFailure(failure: Omit<Failure, 'kind'>): void {
    tell({ kind: 'failure', ...failure });
  }

  /** `listener` is called for each attempt that another process counts under the name `limit`. */
  onFailure(limit: string, listener: OnFailure): void {
    this.#onFailure.set(limit, listener);
  }

  async #tellMetrics(request: number): Promise<void> {
    const own = await this.#ownMetrics?.();
    tell({ kind: 'metrics', request, parts: own === undefined ? [] : [own] });
  }
}

function tell(message: FromWorker): void {
  send(message, () => undefined);
}

/** `done` is called in any case: without a primary this process ends. */
function send(message: FromWorker, done: () => void): void {
  if (process.connected) process.send?.(message, undefined, {}, done);
  else done();
}
