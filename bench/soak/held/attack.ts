import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { BenchFleet, createFleetSeed, signatureOf } from '../../load/fleet.js';
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
  /** Connections still open. */
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

/** What an attacker without an identity can put into Mdm-Signature. */
export const HELD_KINDS = ['garbage', 'foreign', 'copied', 'copied from many'] as const;
export type HeldKind = (typeof HELD_KINDS)[number];

const OTHER_BYTES = Buffer.from('the body of another message');
const MANY = 200;

/**
 * `garbage`: random bytes; `foreign`: well-formed, of another CA; `copied`: of a certificate of a device
 * that is at work, over other bytes; `copied from many`: of certificates this process has not seen yet.
 */
export async function signaturesOf(kind: HeldKind, fleet: BenchFleet): Promise<string[]> {
  const copied = (from: number, to: number) =>
    fleet.devices(from, to).map((device) => signatureOf(device, OTHER_BYTES));
  switch (kind) {
    case 'garbage':
      return [randomBytes(1_400).toString('base64')];
    case 'foreign': {
      const [outsider] = new BenchFleet(await createFleetSeed(1)).devices(0, 1);
      return outsider === undefined ? [] : [signatureOf(outsider, OTHER_BYTES)];
    }
    case 'copied':
      return copied(0, 1);
    case 'copied from many':
      return copied(10_000, 10_000 + MANY);
  }
}
