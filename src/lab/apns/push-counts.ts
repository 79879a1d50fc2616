import type { Refusal } from './push-answer.js';

export interface AnsweredPushes {
  total: number;
  by_status: Record<string, number>;
  by_reason: Record<string, number>;
}

/** Counts the answers to pushes. */
export class PushCounts {
  #accepted = 0;
  #refused = new Map<string, { refusal: Refusal; count: number }>();

  count(refusal: Refusal | undefined): void {
    if (refusal === undefined) {
      this.#accepted += 1;
      return;
    }
    const key = `${refusal.status} ${refusal.reason}`;
    const entry = this.#refused.get(key) ?? { refusal, count: 0 };
    entry.count += 1;
    this.#refused.set(key, entry);
  }

  reset(): void {
    this.#accepted = 0;
    this.#refused = new Map();
  }

  answered(): AnsweredPushes {
    const byStatus: Record<string, number> = this.#accepted > 0 ? { 200: this.#accepted } : {};
    const byReason: Record<string, number> = {};
    let total = this.#accepted;
    for (const { refusal, count } of this.#refused.values()) {
      total += count;
      byStatus[refusal.status] = (byStatus[refusal.status] ?? 0) + count;
      byReason[refusal.reason] = (byReason[refusal.reason] ?? 0) + count;
    }
    return { total, by_status: byStatus, by_reason: byReason };
  }
}
