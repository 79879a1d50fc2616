import { encodePem } from '../../crypto/asn1/pem.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { enroll } from '../enrollment/enroll.js';
import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import { type EnrollmentWay, obtainProfile } from '../enrollment/enrollment-way.js';
import type { HttpClient } from '../wire/http-client.js';
import { UnenrolledError } from '../wire/lab-error.js';
import type { AnswerStatus, FleetState } from './fleet-state.js';
import type { KeyPool } from './key-pool.js';
import { countOwed, type DeviceSession, poll } from './poll.js';

/** What the members of a fleet have in common. */
export interface MemberContext {
  http: HttpClient;
  state: FleetState;
  keys: KeyPool;
  way: EnrollmentWay;
  /** Users ask for commands of their own, too. */
  asUser: boolean;
  notNow: number;
  forever: boolean;
  signal: AbortSignal;
  onAnswer?: (device: SimulatedDevice, answered: Answered) => void;
}

export interface Answered {
  status: AnswerStatus;
  requestType: string;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One device of a fleet, and how it fares. */
export class FleetMember {
  private session: DeviceSession | undefined;
  /** Nothing binds it to the server any more: erased, released or unenrolled. */
  isGone = false;

  constructor(
    private readonly index: number,
    readonly device: SimulatedDevice,
    private readonly context: MemberContext,
  ) {}

  get isEnrolled(): boolean {
    return this.session !== undefined;
  }

  /** Its user is pushed and asks, too. */
  get asUser(): boolean {
    return this.context.asUser;
  }

  /** It has put a command off. */
  get owesAnswer(): boolean {
    return this.session !== undefined && countOwed(this.session) > 0;
  }

  /** `onProfile` comes before the server hears of the device. Failures end up in the state. */
  async enroll(onProfile: (profile: EnrollmentProfile) => Promise<void>): Promise<void> {
    const { http, state, keys, signal, way, asUser } = this.context;
    const { device } = this;
    state.setFate(this.index, 'enrolling');
    try {
      const onStranger = () => state.countStranger();
      const profile = await obtainProfile({ device, http, keys, onStranger }, way);
      http.trust(profile.caCertificates.map((der) => encodePem('CERTIFICATE', der)));
      await onProfile(profile);
      this.session = await enroll(device, { http, profile, keys, asUser });
      state.setFate(this.index, 'enrolled');
      state.setAwaiting(this.index, this.isAwaiting);
    } catch (error) {
      if (!signal.aborted) this.lose(error);
    }
  }

  /** The number of commands offered; failures end up in the state. */
  async poll(): Promise<number> {
    const { session } = this;
    if (session === undefined) return 0;
    try {
      const offers = await poll(session, {
        notNow: this.context.notNow,
        onAnswer: (status, requestType) => this.countAnswer(status, requestType),
      });
      this.afterPoll(session);
      return offers;
    } catch (error) {
      this.afterFailedPoll(error);
      return 0;
    }
  }

  private get isAwaiting(): boolean {
    const { isAwaitingConfiguration } = this.device;
    const user = this.session?.user?.user;
    return isAwaitingConfiguration || user?.isAwaitingConfiguration === true;
  }

  expectPush(): void {
    this.context.state.expectPush(this.index);
  }

  addFailure(reason: string): void {
    const { serialNumber } = this.device.identity;
    this.context.state.addFailure({ serialNumber, reason });
  }

  private countAnswer(status: AnswerStatus, requestType: string): void {
    this.context.state.countAnswer(status);
    this.context.onAnswer?.(this.device, { status, requestType });
  }

  private afterPoll(session: DeviceSession): void {
    const { device } = session;
    const { state } = this.context;
    state.countPoll(this.index);
    state.setPostponed(this.index, countOwed(session));
    state.setAwaiting(this.index, this.isAwaiting);
    if (!device.isErased && !device.isReleased) return;
    this.isGone = true;
    this.session = undefined;
    state.setFate(this.index, device.isErased ? 'erased' : 'released');
  }

  /** A device that is only refused goes on trying, as a real one would, if it is to go on at all. */
  private afterFailedPoll(error: unknown): void {
    const { signal, forever } = this.context;
    if (signal.aborted) return;
    if (error instanceof UnenrolledError || !forever) this.lose(error);
    else this.addFailure(reasonOf(error));
  }

  private lose(error: unknown): void {
    this.isGone = error instanceof UnenrolledError;
    this.session = undefined;
    this.context.state.setFate(this.index, this.isGone ? 'unenrolled' : 'lost');
    this.addFailure(reasonOf(error));
  }
}
