import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetMember } from './fleet-member.js';
import type { FleetState } from './fleet-state.js';
import { interruption } from './interruption.js';
import { forEachLimited } from './limited.js';
import type { Polling } from './polling.js';

const SETTLE_MS = 1_000;
/** A fleet that still says NotNow after so many rounds is given up. */
const MOST_ROUNDS = 120;

export interface TimedPollingOptions {
  members: readonly FleetMember[];
  state: FleetState;
  intervalMs: number;
  concurrency: number;
  signal: AbortSignal;
}

/** For want of a push service: devices ask now and then. */
export class TimedPolling implements Polling {
  constructor(private readonly options: TimedPollingOptions) {}

  /** Nothing is expected from elsewhere. */
  prepare(): Promise<void> {
    return Promise.resolve();
  }

  async afterEnrollment(member: FleetMember): Promise<void> {
    await member.poll();
  }

  /** What an answer makes the server queue comes a moment later, so one quiet round has to pass. */
  async settle(): Promise<void> {
    const { members, state, signal, concurrency } = this.options;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      await sleep(SETTLE_MS, undefined, { signal });
      let offers = 0;
      await forEachLimited(members, { limit: concurrency, signal }, async (member) => {
        offers += await member.poll();
      });
      if (offers === 0 && state.isAtRest()) return;
    }
  }

  async stay(): Promise<void> {
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
    // Whatever is under way ends with the connections.
  }
}
