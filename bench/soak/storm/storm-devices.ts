import { join } from 'node:path';
import { type CallableChild, startCallableChild } from '../../push/child-calls.js';

export type StormWay = 'profile' | 'ota' | 'ade';

export interface StormFleet {
  /** Base URL of the server. */
  url: string;
  devices: number;
  /** Used in turn. */
  ways: readonly StormWay[];
  /** Keys are generated beforehand; devices share them if there are fewer. */
  keys: number;
}

export interface StormOutcome {
  /** Duration for each device that enrolled: from its first request to the answer to its last check-in. */
  seconds: number[];
  /** Descriptions of the failures of the others. */
  failures: string[];
  /** Requests repeated because the server was busy. */
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
