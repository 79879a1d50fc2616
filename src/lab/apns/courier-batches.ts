import { type CourierOperation, writeClientLine } from './courier-lines.js';

const TOKENS_IN_A_LINE = 1_000;

interface Batch {
  operation: CourierOperation;
  tokens: string[];
  onConfirmed: (() => void)[];
}

function topicOf(operation: CourierOperation): string | undefined {
  return operation.name === 'connect' ? operation.topic : undefined;
}

function isSame(one: CourierOperation, other: CourierOperation): boolean {
  return one.name === other.name && topicOf(one) === topicOf(other);
}

/** Operations not sent yet or not confirmed by the courier, in order, many tokens to a line. */
export class CourierBatches {
  #unsent: Batch[] = [];
  readonly #sent = new Map<number, Batch>();
  #lastId = 0;

  /** Resolves when the courier has confirmed it. */
  add(operation: CourierOperation, token: string): Promise<void> {
    const batch = this.#batchFor(this.#unsent, operation);
    batch.tokens.push(token);
    return new Promise((resolve) => batch.onConfirmed.push(resolve));
  }

  /** The lines to send now. */
  nextLines(): string[] {
    return this.#unsent.splice(0).map((batch) => {
      this.#lastId += 1;
      this.#sent.set(this.#lastId, batch);
      return writeClientLine(this.#lastId, batch.operation, batch.tokens);
    });
  }

  confirm(id: number): void {
    const batch = this.#sent.get(id);
    this.#sent.delete(id);
    for (const resolve of batch?.onConfirmed ?? []) resolve();
  }

  confirmAll(): void {
    for (const batch of [...this.#sent.values(), ...this.#unsent]) {
      for (const resolve of batch.onConfirmed) resolve();
    }
    this.#sent.clear();
    this.#unsent = [];
  }

  /** On a new connection: all devices first, then what was not confirmed on the old one. */
  rejoin(devices: readonly { token: string; topic: string }[]): void {
    const batches: Batch[] = [];
    for (const { token, topic } of devices) {
      this.#batchFor(batches, { name: 'connect', topic }).tokens.push(token);
    }
    this.#unsent = [...batches, ...this.#sent.values(), ...this.#unsent];
    this.#sent.clear();
  }

  #batchFor(batches: Batch[], operation: CourierOperation): Batch {
    const last = batches.at(-1);
    const hasRoom = last !== undefined && last.tokens.length < TOKENS_IN_A_LINE;
    if (hasRoom && isSame(last.operation, operation)) return last;
    const batch = { operation, tokens: [], onConfirmed: [] };
    batches.push(batch);
    return batch;
  }
}
