import type { AnswerRule } from './answer-rules.js';
import type { AnsweredPushes } from './push-counts.js';
import type { ConnectionRefusal } from './push-server.js';
import type { StoreCounters, TokenReport } from './token-store.js';

export interface StandInReport extends AnsweredPushes, StoreCounters {
  /** Of pushers. */
  connections: number;
}

/** How the stand-in is told to behave, and what it saw. */
export interface ApnsStandInControl {
  /** Answers on demand; rules are used in the order they came. */
  addAnswer(rule: AnswerRule): void;
  answers(): AnswerRule[];
  clearAnswers(): void;
  /** GOAWAY to everyone. */
  goAway(reason?: string): void;
  /** Resets the connections of pushers. */
  destroyConnections(): void;
  /** New connections of pushers from now on; those that stand remain. */
  refuseConnections(how: ConnectionRefusal): void;
  report(): StandInReport;
  token(token: string): TokenReport | undefined;
  tokens(): Iterable<TokenReport>;
  /** What waits for devices remains. */
  resetCounters(): void;
}
