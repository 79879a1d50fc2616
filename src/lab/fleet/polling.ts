import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import type { FleetMember } from './fleet-member.js';
import type { FleetState } from './fleet-state.js';
import { forEachLimited } from './limiter.js';

/** What makes the members of a fleet ask for their commands. */
export interface Polling {
  /** Runs before the device first contacts its server. */
  prepare(member: FleetMember, profile: EnrollmentProfile): Promise<void>;
  /** Runs after the attempt to enroll, also when it failed. */
  afterEnrollment(member: FleetMember): Promise<void>;
  /** The device polls soon. */
  wake(member: FleetMember): void;
  /** Resolves when every command offered has its final answer, or when waiting is useless. */
  waitUntilIdle(): Promise<void>;
  /** Continues until the fleet is interrupted. */
  pollForever(): Promise<void>;
  close(): void;
}

const ROUND_MS = 1_000;
/** A fleet that still answers NotNow after this many rounds is given up. */
const MAX_ROUNDS = 120;

export interface TimedPollingOptions {
  members: readonly FleetMember[];
  state: FleetState;
  intervalMs: number;
  concurrency: number;
  signal: AbortSignal;
}

/** Without a push service: devices ask at intervals. */
export class TimedPolling implements Polling {
  constructor(private readonly options: TimedPollingOptions) {}

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  async afterEnrollment(member: FleetMember): Promise<void> {
    await member.poll();
  }

  wake(): void {
    // It asks at the end of its interval.
  }

  /** The server queues follow-up commands a moment after an answer, so one round must stay empty. */
  async waitUntilIdle(): Promise<void> {
    const { members, state, signal, concurrency } = this.options;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await sleep(ROUND_MS, undefined, { signal });
      let offers = 0;
      await forEachLimited(members, { limit: concurrency, signal }, async (member) => {
        offers += await member.poll();
      });
      if (offers === 0 && state.isAtRest()) return;
    }
  }

  async pollForever(): Promise<void> {
    const { members, intervalMs, signal } = this.options;
    await Promise.all(
      members.map(async (member) => {
        await sleep(Math.random() * intervalMs, undefined, { signal });
        while (member.isEnrolled) {
          await member.poll();
          await sleep(intervalMs * (0.9 + Math.random() / 5), undefined, { signal });
        }
      }),
    );
    await interruption(signal);
  }

  close(): void {
    // Requests under way end with their connections.
  }
}

/** Resolves when the signal is, or already was, aborted. */
export async function interruption(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
