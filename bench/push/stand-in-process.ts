import { join } from 'node:path';
import { startCallableChild } from './child-calls.js';

/** The address of the stand-in and the client's certificate; PEM. */
export interface PushTarget {
  url: string;
  ca: string;
  /** Where devices connect. */
  courier: string;
  topic: string;
  certificate: string;
  privateKey: string;
}

/** What the stand-in has accepted since it was reset, over its outages. */
export interface Tally {
  accepted: number;
  /** How many devices were pushed at all. */
  pushedDevices: number;
}

/** Arrival of the first and the last watched push, in milliseconds of `process.hrtime`, which all processes share. */
export interface Watched {
  firstAt: number;
  lastAt: number;
}

export interface StandInCalls {
  target(): PushTarget;
  tally(): Tally;
  reset(): void;
  /** Resolves when this many further pushes were accepted. */
  watch(pushes: number): Promise<Watched>;
  /** 0: as fast as it can. */
  delayAnswers(ms: number): void;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
}

export interface StandInProcess {
  pid: number;
  target: PushTarget;
  tally(): Promise<Tally>;
  reset(): Promise<void>;
  watch(pushes: number): Promise<Watched>;
  delayAnswers(ms: number): Promise<void>;
  /** Stops listening, and closes all connections. */
  goDown(): Promise<void>;
  /** At the same address, with the same CA. */
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/** The stand-in for Apple's push service in a process of its own. */
export async function startStandIn(): Promise<StandInProcess> {
  const child = await startCallableChild<StandInCalls>(join(__dirname, 'stand-in-child.ts'));
  return {
    pid: child.pid,
    target: await child.call('target', undefined),
    tally: () => child.call('tally', undefined),
    reset: () => child.call('reset', undefined),
    watch: (pushes) => child.call('watch', pushes),
    delayAnswers: (ms) => child.call('delayAnswers', ms),
    goDown: () => child.call('goDown', undefined),
    comeBack: () => child.call('comeBack', undefined),
    stop: () => child.kill('SIGTERM'),
  };
}
