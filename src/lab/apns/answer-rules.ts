import type { ServerAnswer } from './push-answer.js';
import { USUAL_REASONS } from './refusal.js';

const FIRST_REFUSAL = 400;

/** An answer on demand, in place of the 200 for a push that is as it should be. */
export interface AnswerRule {
  /** For this token, this topic, or both; for all pushes without. */
  token?: string;
  topic?: string;
  /** 200, which only makes sense with a delay, accepts the push. */
  status: number;
  /** The usual one of the status when absent. */
  reason?: string;
  /** How often; always when absent. */
  times?: number;
  /** Seconds, told with the answer. */
  retryAfter?: number;
  delayMs?: number;
  /** With 410; this moment when absent. */
  timestamp?: number;
}

interface Entry {
  rule: AnswerRule;
  left: number;
}

function matches({ rule }: Entry, token: string, topic: string): boolean {
  if (rule.token !== undefined && rule.token.toLowerCase() !== token) return false;
  return rule.topic === undefined || rule.topic === topic;
}

function answerOf(rule: AnswerRule): ServerAnswer {
  const { status, reason = USUAL_REASONS[status] ?? 'InternalServerError' } = rule;
  const { retryAfter, delayMs } = rule;
  const timestamp = status === 410 ? { timestamp: rule.timestamp ?? Date.now() } : {};
  return {
    refusal: status < FIRST_REFUSAL ? undefined : { status, reason, ...timestamp },
    retryAfter,
    delayMs,
  };
}

/** The rules that hold, the oldest that fits is used. */
export class AnswerRules {
  #entries: Entry[] = [];

  add(rule: AnswerRule): void {
    this.#entries.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#entries = [];
  }

  get rules(): AnswerRule[] {
    return this.#entries.map(({ rule }) => rule);
  }

  /** What to answer this push; undefined: as it deserves. */
  next(token: string, topic: string): ServerAnswer | undefined {
    if (this.#entries.length === 0) return undefined;
    const entry = this.#entries.find((candidate) => matches(candidate, token, topic));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#entries = this.#entries.filter((other) => other !== entry);
    return answerOf(entry.rule);
  }
}
