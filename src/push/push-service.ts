import type { PushTrouble } from '../db/processes/process-repository.js';
import type { ApnsAnswer } from '../protocol/apns.js';

/** The push by hand: Apple's answer, which is stored with the device too. */
export interface PushedByHand extends ApnsAnswer {
  deviceId: number;
  topic: string;
  pushedAt: Date;
}

export interface PushService {
  /** Begins to push whatever is due; only in processes that do the background work. */
  start(): void;
  /** Something became due this moment (call it after the commit). Cheap; many calls become one. */
  wake(): void;
  /** AppError 404; 409 device_not_pushable, no_push_certificate; 503 push_service_unreachable. */
  pushByHand(deviceId: number): Promise<PushedByHand>;
  /** Why this process cannot do the pushes that are due; null while it can, or has none to do. */
  trouble(): PushTrouble | null;
  /** Told when trouble begins and when it is over. */
  onTrouble(listener: () => void): void;
  /** Ends what is under way; at most two seconds. */
  stop(): Promise<void>;
}
