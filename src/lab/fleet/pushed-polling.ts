import { setTimeout as sleep } from 'node:timers/promises';
import type { CourierClient } from '../apns/courier-client.js';
import type { CourierPush } from '../apns/courier-lines.js';
import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import { LabError } from '../wire/lab-error.js';
import type { FleetMember } from './fleet-member.js';
import type { FleetState } from './fleet-state.js';
import type { Limiter } from './limiter.js';
import { interruption, type Polling } from './polling.js';

const CHECK_MS = 100;
const QUIET_MS = 2_000;
const GIVE_UP_MS = 60_000;
const NOT_NOW_MS = 4_000;

/** The connection of a whole fleet to the push service. */
export type Courier = Pick<CourierClient, 'connect' | 'forget' | 'close'>;

export interface PushedPollingOptions {
  courier: Courier;
  state: FleetState;
  limiter: Limiter;
  forever: boolean;
  signal: AbortSignal;
  /** About how long a device that answered NotNow stays locked. */
  notNowMs?: number;
  /** `waitUntilIdle` gives up after this long without progress. */
  giveUpMs?: number;
}

/** The part of a member that polling needs. */
export type PushedMember = Pick<
  FleetMember,
  | 'device'
  | 'asUser'
  | 'isEnrolled'
  | 'isGone'
  | 'hasPostponed'
  | 'poll'
  | 'expectPush'
  | 'addFailure'
>;

interface PollState {
  isDue: boolean;
  isPolling: boolean;
  /** Set after NotNow. */
  retryTimer?: NodeJS.Timeout;
}

/** Like Apple's devices: they poll when pushed, and unprompted only after NotNow. */
export class PushedPolling implements Polling {
  private readonly pollStates = new Map<PushedMember, PollState>();
  private polling = 0;

  constructor(private readonly options: PushedPollingOptions) {}

  async prepare(member: PushedMember, { mdm }: Pick<EnrollmentProfile, 'mdm'>): Promise<void> {
    const { courier, forever, giveUpMs = GIVE_UP_MS } = this.options;
    this.pollStates.set(member, { isDue: false, isPolling: false });
    const listen = (push: CourierPush) => this.receive(member, push);
    const connected = Promise.all(
      tokensOf(member).map((token) => courier.connect(token, mdm.topic, listen)),
    );
    await (forever ? connected : withinTimeout(connected, giveUpMs));
  }

  afterEnrollment(member: PushedMember): Promise<void> {
    if (member.isEnrolled) member.expectPush();
    this.begin(member);
    return Promise.resolve();
  }

  async waitUntilIdle(): Promise<void> {
    const { state, signal, giveUpMs = GIVE_UP_MS } = this.options;
    for (;;) {
      const isIdle = this.polling === 0;
      if (isIdle && state.isAtRest() && state.quietMs() >= QUIET_MS) return;
      if (isIdle && state.stuckMs() >= giveUpMs) return;
      await sleep(CHECK_MS, undefined, { signal });
    }
  }

  pollForever(): Promise<void> {
    return interruption(this.options.signal);
  }

  close(): void {
    for (const { retryTimer } of this.pollStates.values()) clearTimeout(retryTimer);
    this.pollStates.clear();
    void this.options.courier.close();
  }

  /** A device accepts only pushes with the PushMagic that it sent to its server. */
  private receive(member: PushedMember, { token, payload }: CourierPush): void {
    if (payload.mdm !== magicOf(member, token)) {
      member.addFailure('a push came without the PushMagic of the device');
      return;
    }
    this.options.state.countPush();
    this.wake(member);
  }

  wake(member: PushedMember): void {
    const pollState = this.pollStates.get(member);
    if (pollState === undefined) return;
    pollState.isDue = true;
    this.begin(member);
  }

  private begin(member: PushedMember): void {
    const pollState = this.pollStates.get(member);
    if (pollState === undefined || !pollState.isDue) return;
    if (pollState.isPolling || !member.isEnrolled) return;
    void this.pollWhileDue(member, pollState);
  }

  /** All pushes during a poll together cause one further poll. */
  private async pollWhileDue(member: PushedMember, pollState: PollState): Promise<void> {
    const { limiter, signal } = this.options;
    this.polling += 1;
    pollState.isPolling = true;
    while (pollState.isDue && member.isEnrolled && !signal.aborted) {
      await limiter.run(async () => {
        pollState.isDue = false;
        await member.poll();
      });
    }
    pollState.isPolling = false;
    this.polling -= 1;
    this.afterPolls(member, pollState);
  }

  private afterPolls(member: PushedMember, pollState: PollState): void {
    const { courier, notNowMs = NOT_NOW_MS, signal } = this.options;
    if (member.isGone) {
      this.pollStates.delete(member);
      for (const token of tokensOf(member)) void courier.forget(token);
      return;
    }
    if (!member.hasPostponed || pollState.retryTimer !== undefined || signal.aborted) return;
    const retry = () => {
      delete pollState.retryTimer;
      if (member.hasPostponed) this.wake(member);
    };
    pollState.retryTimer = setTimeout(retry, notNowMs * (0.5 + Math.random()));
  }
}

/** The device's and, if the server has a channel for its user, the user's. */
function tokensOf({ device, asUser }: PushedMember): string[] {
  const user = asUser ? device.user : undefined;
  const holders = user === undefined ? [device] : [device, user];
  return holders.map(({ pushToken }) => pushToken.toString('hex'));
}

function magicOf({ device: { pushToken, pushMagic, user } }: PushedMember, token: string) {
  return token === pushToken.toString('hex') ? pushMagic : user?.pushMagic;
}

async function withinTimeout(connected: Promise<unknown>, giveUpMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const error = new LabError('the push service of the lab does not answer');
    timer = setTimeout(() => reject(error), giveUpMs);
  });
  try {
    await Promise.race([connected, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
