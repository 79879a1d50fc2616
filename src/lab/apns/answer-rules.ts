import { type ServerAnswer, USUAL_REASONS } from './push-answer.js';

const FIRST_REFUSAL = 400;

/** An answer to send in place of the 200 for a valid push. */
export interface AnswerRule {
  /** Applies to this token, this topic, or both; to all pushes if neither is set. */
  token?: string | undefined;
  topic?: string | undefined;
  /** 200, which only makes sense with a delay, accepts the push. */
  status: number;
  /** The usual one of the status when absent. */
  reason?: string | undefined;
  /** How many pushes it applies to; all when absent. */
  times?: number | undefined;
  /** Seconds, sent as Retry-After. */
  retryAfter?: number | undefined;
  delayMs?: number | undefined;
  /** With 410; this moment when absent. */
  timestamp?: number | undefined;
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
  const timestamp = status === 410 ? (rule.timestamp ?? Date.now()) : undefined;
  return {
    refusal: status < FIRST_REFUSAL ? undefined : { status, reason, timestamp },
    retryAfter,
    delayMs,
  };
}

/** The active rules; the oldest that matches is used. */
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

  /** The answer of the rule for this push; undefined: no rule matches. */
  next(token: string, topic: string): ServerAnswer | undefined {
    if (this.#entries.length === 0) return undefined;
    const entry = this.#entries.find((candidate) => matches(candidate, token, topic));
    if (entry === undefined) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#entries = this.#entries.filter((other) => other !== entry);
    return answerOf(entry.rule);
  }
}
