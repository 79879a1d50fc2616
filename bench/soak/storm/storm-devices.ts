import { join } from 'node:path';
import { type CallableChild, startCallableChild } from '../../push/child-calls.js';

export type StormWay = 'profile' | 'ota' | 'ade';

export interface StormFleet {
  /** Base URL of the server. */
  url: string;
  devices: number;
  /** One after the other in turn. */
  ways: readonly StormWay[];
  /** Keys are made beforehand; devices share them where there are fewer. */
  keys: number;
}

export interface StormOutcome {
  /** Of each device that enrolled: from its first request to the answer to its last check-in. */
  seconds: number[];
  /** In words, of the others. */
  failures: string[];
  /** Requests that the server was too busy for, sent again. */
  retries: number;
  wallSeconds: number;
}

export interface StormCalls {
  prepare(fleet: StormFleet): Promise<void>;
  /** Lets all of them enroll at once. */
  enroll(): Promise<StormOutcome>;
}

/** The devices in a process of their own, so that what they cost is not taken for the server's. */
export function startStormDevices(): Promise<CallableChild<StormCalls>> {
  return startCallableChild<StormCalls>(join(__dirname, 'storm-devices-child.ts'));
}
