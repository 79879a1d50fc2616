import type { ApnsExchange } from './apns-exchange.js';
import type { ApnsSession } from './apns-session.js';

/** Whom a session tells what happens on it. */
export interface ApnsSessionOwner {
  /** The session takes a push, or more of them than before. */
  onRoom(session: ApnsSession): void;
  /** The first answer on this session. */
  onAnswer(session: ApnsSession): void;
  /** To be sent again: the service did not look at this one, or failed on it for once. */
  onRepeat(exchange: ApnsExchange): void;
  /** Reset by the service, or without an answer for too long. */
  onFailure(exchange: ApnsExchange, words: string): void;
  /** It takes no more pushes: the service said goodbye, it is of no use, or broke. Told once. */
  onLeave(session: ApnsSession): void;
  /** The connection is gone. */
  onEnd(session: ApnsSession): void;
  /** The service may have acted on this one or not. */
  onLost(session: ApnsSession, exchange: ApnsExchange): void;
}
