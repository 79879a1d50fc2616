import { setTimeout as sleep } from 'node:timers/promises';
import type { CourierClient } from '../apns/courier-client.js';
import type { CourierPush } from '../apns/courier-lines.js';
import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import { LabError } from '../wire/lab-error.js';
import type { FleetMember } from './fleet-member.js';
import type { FleetState } from './fleet-state.js';
import { interruption } from './interruption.js';
import type { Limiter } from './limiter.js';
import type { Polling } from './polling.js';

const LOOK_MS = 100;
const QUIET_MS = 2_000;
const PATIENCE_MS = 60_000;
const COMEBACK_MS = 4_000;

/** The connection that devices hold to the push service, for a whole fleet. */
export type Courier = Pick<CourierClient, 'connect' | 'forget' | 'close'>;

export interface PushedPollingOptions {
  courier: Courier;
  state: FleetState;
  limiter: Limiter;
  forever: boolean;
  signal: AbortSignal;
  /** About how long a device that said NotNow stays locked. */
  comebackMs?: number;
  /** Once nothing has come nearer to its end for so long, `settle` gives up. */
  patienceMs?: number;
}

/** What of a member matters to its waking. */
export type PushedMember = Pick<
  FleetMember,
  | 'device'
  | 'asUser'
  | 'isEnrolled'
  | 'isGone'
  | 'owesAnswer'
  | 'poll'
  | 'expectPush'
  | 'addFailure'
>;

interface Wakefulness {
  isWanted: boolean;
  isPolling: boolean;
  comeback?: NodeJS.Timeout;
}

/** As Apple's devices do it: one asks when it is pushed, and by itself only after NotNow. */
export class PushedPolling implements Polling {
  private readonly wakefulness = new Map<PushedMember, Wakefulness>();
  private polling = 0;

  constructor(private readonly options: PushedPollingOptions) {}

  async prepare(member: PushedMember, { mdm }: Pick<EnrollmentProfile, 'mdm'>): Promise<void> {
    const { courier, forever, patienceMs = PATIENCE_MS } = this.options;
    this.wakefulness.set(member, { isWanted: false, isPolling: false });
    const listen = (push: CourierPush) => this.receive(member, push);
    const connected = Promise.all(
      tokensOf(member).map((token) => courier.connect(token, mdm.topic, listen)),
    );
    await (forever ? connected : withinPatience(connected, patienceMs));
  }

  afterEnrollment(member: PushedMember): Promise<void> {
    if (member.isEnrolled) member.expectPush();
    this.begin(member);
    return Promise.resolve();
  }

  async settle(): Promise<void> {
    const { state, signal, patienceMs = PATIENCE_MS } = this.options;
    for (;;) {
      const isIdle = this.polling === 0;
      if (isIdle && state.isAtRest() && state.quietMs() >= QUIET_MS) return;
      if (isIdle && state.stuckMs() >= patienceMs) return;
      await sleep(LOOK_MS, undefined, { signal });
    }
  }

  stay(): Promise<void> {
    return interruption(this.options.signal);
  }

  close(): void {
    for (const { comeback } of this.wakefulness.values()) clearTimeout(comeback);
    this.wakefulness.clear();
    void this.options.courier.close();
  }

  /** A device believes only pushes that carry the word it gave its server. */
  private receive(member: PushedMember, { token, payload }: CourierPush): void {
    if (payload.mdm !== magicOf(member, token)) {
      member.addFailure('a push came without the PushMagic of the device');
      return;
    }
    this.options.state.countPush();
    this.wake(member);
  }

  private wake(member: PushedMember): void {
    const wakefulness = this.wakefulness.get(member);
    if (wakefulness === undefined) return;
    wakefulness.isWanted = true;
    this.begin(member);
  }

  private begin(member: PushedMember): void {
    const wakefulness = this.wakefulness.get(member);
    if (wakefulness === undefined || !wakefulness.isWanted) return;
    if (wakefulness.isPolling || !member.isEnrolled) return;
    void this.pollWhileWanted(member, wakefulness);
  }

  /** Pushes that come meanwhile, however many, make it ask once more. */
  private async pollWhileWanted(member: PushedMember, wakefulness: Wakefulness): Promise<void> {
    const { limiter, signal } = this.options;
    this.polling += 1;
    wakefulness.isPolling = true;
    while (wakefulness.isWanted && member.isEnrolled && !signal.aborted) {
      await limiter.run(async () => {
        wakefulness.isWanted = false;
        await member.poll();
      });
    }
    wakefulness.isPolling = false;
    this.polling -= 1;
    this.afterPolls(member, wakefulness);
  }

  private afterPolls(member: PushedMember, wakefulness: Wakefulness): void {
    const { courier, comebackMs = COMEBACK_MS, signal } = this.options;
    if (member.isGone) {
      this.wakefulness.delete(member);
      for (const token of tokensOf(member)) void courier.forget(token);
      return;
    }
    if (!member.owesAnswer || wakefulness.comeback !== undefined || signal.aborted) return;
    const comeBack = () => {
      delete wakefulness.comeback;
      if (member.owesAnswer) this.wake(member);
    };
    wakefulness.comeback = setTimeout(comeBack, comebackMs * (0.5 + Math.random()));
  }
}

/** The device's and, where it has a user whom the server talks to, the user's. */
function tokensOf({ device, asUser }: PushedMember): string[] {
  const user = asUser ? device.user : undefined;
  const holders = user === undefined ? [device] : [device, user];
  return holders.map(({ pushToken }) => pushToken.toString('hex'));
}

function magicOf({ device: { pushToken, pushMagic, user } }: PushedMember, token: string) {
  return token === pushToken.toString('hex') ? pushMagic : user?.pushMagic;
}

async function withinPatience(connected: Promise<unknown>, patienceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new LabError('the push service of the lab does not answer');
    timer = setTimeout(() => reject(error), patienceMs);
  });
  try {
    await Promise.race([connected, late]);
  } finally {
    clearTimeout(timer);
  }
}
