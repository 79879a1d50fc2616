import { encodePem } from '../../crypto/asn1/pem.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { type Behavior, changesToken } from '../devices/behavior.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { type DeviceSession, enroll, obtainProfile } from '../enrollment/enroll.js';
import type { EnrollmentProfile } from '../enrollment/enrollment-profile.js';
import type { EnrollmentWay } from '../enrollment/enrollment-way.js';
import type { KeyPool } from '../enrollment/key-pool.js';
import type { HttpClient } from '../wire/http-client.js';
import { UnenrolledError } from '../wire/lab-error.js';
import { checkOutMessage, returnToServiceMessage, tokenUpdateMessage } from '../wire/messages.js';
import type { AnswerStatus, FleetState } from './fleet-state.js';
import { countPostponed, poll } from './poll.js';

/** What the members of a fleet have in common. */
export interface MemberContext {
  http: HttpClient;
  state: FleetState;
  keys: KeyPool;
  way: EnrollmentWay;
  /** Users ask for commands, too. */
  asUser: boolean;
  notNow: number;
  forever: boolean;
  signal: AbortSignal;
  onAnswer?: ((device: SimulatedDevice, answered: Answered) => void) | undefined;
  /** Devices ask how they return to service; called with what the server answered. */
  onReturnToService?: ((device: SimulatedDevice, answer: PlistDict) => void) | undefined;
}

export interface Answered {
  status: AnswerStatus;
  requestType: string;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One device of a fleet; records what happens to it in the state. */
export class FleetMember {
  private session: DeviceSession | undefined;
  /** Erased, released or unenrolled: it no longer contacts the server. */
  isGone = false;

  constructor(
    private readonly index: number,
    readonly device: SimulatedDevice,
    private readonly context: MemberContext,
  ) {}

  get isEnrolled(): boolean {
    return this.session !== undefined;
  }

  /** Its user is pushed and polls, too. */
  get asUser(): boolean {
    return this.context.asUser;
  }

  /** It has answered a command NotNow. */
  get hasPostponed(): boolean {
    return this.session !== undefined && countPostponed(this.session) > 0;
  }

  /** `onProfile` runs before the device first contacts its server. Failures are added to the state. */
  async enroll(onProfile: (profile: EnrollmentProfile) => Promise<void>): Promise<void> {
    const { http, state, keys, signal, way, asUser } = this.context;
    const { device } = this;
    state.setStage(this.index, 'enrolling');
    try {
      const onUnknownToApple = () => state.countUnknownToApple();
      const profile = await obtainProfile({ device, http, keys, onUnknownToApple }, way);
      http.trust(profile.caCertificates.map((der) => encodePem('CERTIFICATE', der)));
      await onProfile(profile);
      this.session = await enroll(device, { http, profile, keys, asUser });
      state.setStage(this.index, 'enrolled');
      state.setAwaiting(this.index, this.isAwaiting);
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  /** Asks the server how the device comes back once it is erased; it is not erased. */
  async askReturnToService(): Promise<void> {
    const { session, device } = this;
    const { onReturnToService, signal } = this.context;
    // Macs have no such message.
    const canAsk = session !== undefined && device.identity.platform !== 'macOS';
    if (!canAsk || onReturnToService === undefined) return;
    try {
      onReturnToService(device, (await session.mdm.checkIn(returnToServiceMessage(device))) ?? {});
    } catch (error) {
      if (!signal.aborted) this.addFailure(`ReturnToService: ${reasonOf(error)}`);
    }
  }

  /** Resolves with the number of commands offered; failures are added to the state. */
  async poll(): Promise<number> {
    const { session, device } = this;
    if (session === undefined || device.behavior === 'silent') return 0;
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

  /** Changes the behavior, and sends the messages that a device sends at such a change. */
  async behave(behavior: Behavior): Promise<void> {
    const { device, session } = this;
    const before = device.behavior;
    device.behavior = behavior;
    if (session === undefined || before === behavior) return;
    if (behavior === 'removed') {
      await session.mdm.checkIn(checkOutMessage(device, session.topic));
      device.isReleased = true;
      this.leave('released');
    } else if (changesToken(before) || changesToken(behavior)) {
      await session.mdm.checkIn(tokenUpdateMessage(device, session.topic));
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
    state.setPostponed(this.index, countPostponed(session));
    state.setAwaiting(this.index, this.isAwaiting);
    if (!device.isErased && !device.isReleased) return;
    this.leave(device.isErased ? 'erased' : 'released');
  }

  private leave(stage: 'erased' | 'released'): void {
    this.isGone = true;
    this.session = undefined;
    this.context.state.setStage(this.index, stage);
  }

  /** With `forever`, a device that was refused keeps trying, as a real one does. */
  private afterFailedPoll(error: unknown): void {
    const { signal, forever } = this.context;
    if (signal.aborted) return;
    if (error instanceof UnenrolledError || !forever) this.fail(error);
    else this.addFailure(reasonOf(error));
  }

  private fail(error: unknown): void {
    this.isGone = error instanceof UnenrolledError;
    this.session = undefined;
    this.context.state.setStage(this.index, this.isGone ? 'unenrolled' : 'failed');
    this.addFailure(reasonOf(error));
  }
}
