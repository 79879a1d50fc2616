import type { DepDevice } from './dep-device.js';

export type OperationType = 'added' | 'modified' | 'deleted';

export interface Operation {
  readonly type: OperationType;
  readonly device: DepDevice;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const MOST = 1_000_000;

/** What happened to the devices of a server, in order; a place in it is a number that only grows. */
export class OperationLog {
  #first: number;
  #operations: Operation[];

  constructor(first = 0, operations: Operation[] = []) {
    this.#first = first;
    this.#operations = operations;
  }

  /** Where the oldest is that is still known. */
  get first(): number {
    return this.#first;
  }

  /** Where the next one will be. */
  get end(): number {
    return this.#first + this.#operations.length;
  }

  add(type: OperationType, device: DepDevice): void {
    this.#operations.push({ type, device, at: Date.now() });
    if (this.#operations.length <= MOST) return;
    const forgotten = MOST / 2;
    this.#operations = this.#operations.slice(forgotten);
    this.#first += forgotten;
  }

  from(place: number, count: number): readonly Operation[] {
    const start = place - this.#first;
    return this.#operations.slice(start, start + count);
  }
}
