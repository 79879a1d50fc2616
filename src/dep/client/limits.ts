import { setTimeout as sleep } from 'node:timers/promises';

/** In milliseconds where nothing else is said. */
export interface DepLimits {
  connect: number;
  /** From the request to the last byte of the answer. */
  answer: number;
  /** Bytes of an answer: a page of 1000 devices has half a megabyte. */
  answerBytes: number;
  /** How long one call waits in all for a service that is busy. */
  patience: number;
  /** Connections to one service. */
  sockets: number;
  /** For how long one is kept unused: firewalls forget it silently. */
  idle: number;
}

export const DEP_LIMITS: DepLimits = {
  connect: 10_000,
  answer: 60_000,
  answerBytes: 16 * 1024 * 1024,
  patience: 30_000,
  sockets: 4,
  idle: 15_000,
};

export interface DepClock {
  now(): number;
  /** Rejects once the signal is aborted. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const SYSTEM_CLOCK: DepClock = {
  now: () => Date.now(),
  wait: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, { signal });
  },
};
