import { writeClientLine } from './courier-lines.js';

const TOKENS_IN_A_LINE = 1_000;

export type CourierOperation =
  | { name: 'connect'; topic: string }
  | { name: 'disconnect' }
  | { name: 'forget' };

interface Batch {
  operation: CourierOperation;
  tokens: string[];
  settle: (() => void)[];
}

function topicOf(operation: CourierOperation): string | undefined {
  return operation.name === 'connect' ? operation.topic : undefined;
}

function isSame(one: CourierOperation, other: CourierOperation): boolean {
  return one.name === other.name && topicOf(one) === topicOf(other);
}

/** What the courier is still to be told or has not confirmed, in order, many tokens to a line. */
export class CourierBatches {
  #unsent: Batch[] = [];
  readonly #sent = new Map<number, Batch>();
  #lastId = 0;

  /** Resolves when the courier has confirmed it. */
  add(operation: CourierOperation, token: string): Promise<void> {
    const batch = this.#batchFor(this.#unsent, operation);
    batch.tokens.push(token);
    return new Promise((resolve) => batch.settle.push(resolve));
  }

  /** The lines to send now. */
  take(): string[] {
    return this.#unsent.splice(0).map((batch) => {
      this.#lastId += 1;
      this.#sent.set(this.#lastId, batch);
      return writeClientLine(this.#lastId, batch.operation, batch.tokens);
    });
  }

  settle(id: number): void {
    const batch = this.#sent.get(id);
    this.#sent.delete(id);
    for (const resolve of batch?.settle ?? []) resolve();
  }

  settleAll(): void {
    for (const batch of [...this.#sent.values(), ...this.#unsent]) {
      for (const resolve of batch.settle) resolve();
    }
    this.#sent.clear();
    this.#unsent = [];
  }

  /** On a new connection: all devices first, then what the old one did not confirm. */
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
    const batch = { operation, tokens: [], settle: [] };
    batches.push(batch);
    return batch;
  }
}
