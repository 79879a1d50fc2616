import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Behavior } from '../devices/behavior.js';
import { type LabPlatform, platformOf } from '../devices/device-models.js';
import { Random } from '../devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
  type SimulatedDeviceOptions,
} from '../devices/simulated-device.js';
import type { AwaitedDevice } from '../enrollment/awaited-devices.js';
import type { EnrollmentWay } from '../enrollment/enrollment-way.js';
import { KeyPool } from '../enrollment/key-pool.js';
import { HttpClient } from '../wire/http-client.js';
import type { ControlledDevice } from './fleet-control.js';
import { type Answered, FleetMember, type MemberContext } from './fleet-member.js';
import { FleetState } from './fleet-state.js';
import { forEachLimited, Limiter } from './limiter.js';
import { type Polling, TimedPolling } from './polling.js';
import { type Courier, PushedPolling } from './pushed-polling.js';

export interface FleetOptions {
  devices: number;
  /** Both by turns when absent. */
  platform?: LabPlatform | undefined;
  way: EnrollmentWay;
  /** Users ask for commands, too; iPads are shared. */
  asUser?: boolean;
  isAwaitingConfiguration?: boolean;
  /** Every device refuses profiles with one of these payload types. */
  refusedPayloads?: readonly string[] | undefined;
  /** Behavior of every device at first; `well` when absent. */
  behavior?: Behavior | undefined;
  /** The user of every device removes these profiles once, after they were listed. */
  profilesToLose?: readonly string[] | undefined;
  /** Devices to simulate first; the others have random serial numbers. */
  awaited?: readonly AwaitedDevice[];
  /** PEM of CAs to trust for TLS, besides the well-known ones. */
  trustedCas?: string | undefined;
  notNow: number;
  forever: boolean;
  pollIntervalMs: number;
  /** Without it the devices poll at intervals. */
  openCourier?: ((http: HttpClient) => Promise<Courier>) | undefined;
  concurrency: number;
  /** The same seed makes the same devices. */
  seed?: string | undefined;
  signal: AbortSignal;
  onChange?: () => void;
  onAnswer?: ((device: SimulatedDevice, answered: Answered) => void) | undefined;
  /** With it every device asks how it returns to service, after its first commands. */
  onReturnToService?: MemberContext['onReturnToService'];
  /** Every device has tried to enroll and, where it is pushed, has answered its first commands. */
  onReady?: () => Promise<void>;
}

const RETRY_MS = 60_000;

/** Simulated devices that enroll and answer commands, over the wire alone. */
export class Fleet {
  readonly state: FleetState;
  private readonly http: HttpClient;
  private readonly members: FleetMember[];
  private readonly limiter: Limiter;
  private readonly keys = new KeyPool();
  private polling: Polling | undefined;

  constructor(private readonly options: FleetOptions) {
    const { devices, signal, forever, concurrency } = options;
    setMaxListeners(0, signal); // every request and every pause listens to it
    this.state = new FleetState(devices, options.onChange);
    this.limiter = new Limiter(concurrency);
    this.http = new HttpClient({
      retryMs: forever ? Number.POSITIVE_INFINITY : RETRY_MS,
      signal,
      onRetry: () => this.state.countRetry(),
    });
    if (options.trustedCas !== undefined) this.http.trust([options.trustedCas]);
    const random = new Random(options.seed ?? randomUUID());
    this.members = Array.from({ length: devices }, (_, index) => this.createMember(index, random));
  }

  /** Resolves when every device is enrolled and has answered; with `forever` only when aborted. */
  async run(): Promise<void> {
    try {
      this.polling = await this.createPolling();
      await this.enrollAndPoll(this.polling);
    } catch (error) {
      if (!this.options.signal.aborted) throw error;
    } finally {
      this.polling?.close();
      this.http.close();
    }
  }

  devices(): ControlledDevice[] {
    return this.members.map(toControlled);
  }

  /** For one device, or for all. Rejects with LabError if the server refuses what a device sends. */
  async behave(behavior: Behavior, serialNumber?: string): Promise<ControlledDevice[]> {
    const chosen = this.members.filter(
      ({ device }) =>
        (serialNumber ?? device.identity.serialNumber) === device.identity.serialNumber,
    );
    for (const member of chosen) {
      await member.behave(behavior);
      this.polling?.wake(member);
    }
    return chosen.map(toControlled);
  }

  private createMember(index: number, random: Random): FleetMember {
    const { http, state, keys } = this;
    const { way, asUser = false, notNow, forever, signal, onAnswer } = this.options;
    const { onReturnToService } = this.options;
    const context: MemberContext = {
      http,
      state,
      keys,
      way,
      asUser,
      notNow,
      forever,
      signal,
      onAnswer,
      onReturnToService,
    };
    const own = random.fork(`device ${index}`);
    const { kind } = this.options.awaited?.[index] ?? {};
    const fitting = this.options.platform ?? (kind && platformOf(kind));
    // By turns, so that even a small fleet has both.
    const platform = fitting ?? (index % 2 === 0 ? 'iOS' : 'macOS');
    const device = createSimulatedDevice({ platform, random: own, ...this.traits(index) });
    return new FleetMember(index, device, context);
  }

  /** Automated enrollment supervises a device, a personal account doesn't. */
  private traits(index: number): Omit<SimulatedDeviceOptions, 'platform' | 'random'> {
    const { way, asUser = false, isAwaitingConfiguration = false, awaited } = this.options;
    const { refusedPayloads, profilesToLose, behavior } = this.options;
    const { serialNumber, kind } = awaited?.[index] ?? {};
    return {
      isShared: asUser,
      isAwaitingConfiguration,
      serialNumber,
      kind,
      refusedPayloads,
      profilesToLose,
      behavior,
      isSupervised: { ade: true, account: false, ota: undefined, profile: undefined }[way.enroll],
    };
  }

  private async createPolling(): Promise<Polling> {
    const { members, state, limiter } = this;
    const { openCourier, pollIntervalMs: intervalMs, ...rest } = this.options;
    const { concurrency, signal, forever } = rest;
    if (openCourier === undefined) {
      return new TimedPolling({ members, state, intervalMs, concurrency, signal });
    }
    const courier = await openCourier(this.http);
    return new PushedPolling({ courier, state, limiter, forever, signal });
  }

  private async enrollAndPoll(polling: Polling): Promise<void> {
    const { concurrency: limit, signal, forever, openCourier, onReady } = this.options;
    await forEachLimited(this.members, { limit, signal }, async (member) => {
      await this.limiter.run(() => member.enroll((profile) => polling.prepare(member, profile)));
      await polling.afterEnrollment(member);
    });
    if (!forever || openCourier !== undefined) await polling.waitUntilIdle();
    await forEachLimited(this.members, { limit, signal }, (member) => member.askReturnToService());
    await onReady?.();
    if (forever) await polling.pollForever();
  }
}

function toControlled({ device, isEnrolled }: FleetMember): ControlledDevice {
  const { identity, behavior } = device;
  return { serial_number: identity.serialNumber, behavior, is_enrolled: isEnrolled };
}
