import { LRUCache } from 'lru-cache';

/**
 * The budget of one identity: twenty times what a Mac with 7,000 applications sends when it enrolls
 * again, refilled within a few minutes.
 */
const MAX_BYTES = 64 * 1024 * 1024;
const BYTES_PER_MINUTE = 16 * 1024 * 1024;
const MAX_MS = 10_000;
const MS_PER_MINUTE = 2_000;

const MINUTE = 60_000;
/** An identity beyond these is forgotten, and has its full budget again. */
const MAX_IDENTITIES = 10_000;

interface Spent {
  bytes: number;
  ms: number;
  at: number;
  /** UDID or EnrollmentID of its last message that was read. */
  device: string | undefined;
}

/** A leaky bucket per identity certificate: bytes of long bodies, and the time to read them. */
export class ReadingBudget {
  readonly #spent = new LRUCache<string, Spent>({ max: MAX_IDENTITIES });

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Whether the identity may send that many bytes more. */
  allows(fingerprint: Buffer, bytes: number): boolean {
    const spent = this.#current(fingerprint);
    return spent.bytes + bytes <= MAX_BYTES && spent.ms <= MAX_MS;
  }

  spend(fingerprint: Buffer, { bytes = 0, ms = 0 }: { bytes?: number; ms?: number }): void {
    const spent = this.#current(fingerprint);
    spent.bytes += bytes;
    spent.ms += ms;
    this.#spent.set(keyOf(fingerprint), spent);
  }

  /** The device that the identity's messages named, for the log. */
  deviceOf(fingerprint: Buffer): string | undefined {
    return this.#spent.get(keyOf(fingerprint))?.device;
  }

  noteDevice(fingerprint: Buffer, device: string): void {
    const spent = this.#spent.get(keyOf(fingerprint));
    if (spent !== undefined) spent.device = device;
  }

  #current(fingerprint: Buffer): Spent {
    const at = this.now();
    const spent = this.#spent.get(keyOf(fingerprint));
    if (spent === undefined) return { bytes: 0, ms: 0, at, device: undefined };
    const minutes = (at - spent.at) / MINUTE;
    spent.bytes = Math.max(0, spent.bytes - minutes * BYTES_PER_MINUTE);
    spent.ms = Math.max(0, spent.ms - minutes * MS_PER_MINUTE);
    spent.at = at;
    return spent;
  }
}

function keyOf(fingerprint: Buffer): string {
  return fingerprint.toString('latin1');
}
