import { join } from 'node:path';
import { type CallableChild, startCallableChild } from '../../push/child-calls.js';

export interface Attack {
  port: number;
  connections: number;
  /** Sent of each body, which is announced as one byte longer. */
  bodyBytes: number;
  /** Values of Mdm-Signature, used in turn. */
  signatures: readonly string[];
}

export interface AttackState {
  /** Connections that are open still. */
  open: number;
  /** How many were answered, by status. */
  answers: Record<string, number>;
  sentMegabytes: number;
}

export interface AttackCalls {
  begin(attack: Attack): void;
  look(): AttackState;
  end(): void;
}

/** A process that sends bodies up to their last byte and holds the connections. */
export function startAttacker(): Promise<CallableChild<AttackCalls>> {
  return startCallableChild<AttackCalls>(join(__dirname, 'attack-child.ts'));
}
