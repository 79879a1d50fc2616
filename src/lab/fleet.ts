import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePem } from '../crypto/pem.js';
import type { LabPlatform } from './device-models.js';
import { enroll } from './enroll.js';
import { fetchProfile, readProfileFile } from './enrollment-profile.js';
import { FleetState } from './fleet-state.js';
import { HttpClient } from './http-client.js';
import { UnenrolledError } from './lab-error.js';
import { forEachLimited } from './limited.js';
import { type DeviceSession, poll } from './poll.js';
import { Random } from './random.js';
import { createSimulatedDevice, type SimulatedDevice } from './simulated-device.js';

export interface FleetOptions {
  devices: number;
  /** A mix of both when absent. */
  platform?: LabPlatform;
  /** Base URL of the server; only used to fetch enrollment profiles. */
  url: string;
  /** One profile file for the whole fleet, in place of fetching one for each device. */
  profile?: Buffer;
  /** PEM of CAs that a TLS server's certificate may come from, besides the well-known ones. */
  trustedCas?: string;
  notNow: number;
  forever: boolean;
  pollIntervalMs: number;
  concurrency: number;
  /** The same seed makes the same devices. */
  seed?: string;
  signal: AbortSignal;
  onChange?: () => void;
}

const PATIENCE_MS = 60_000;
const SETTLE_MS = 1_000;
/** A fleet that still says NotNow after so many rounds is given up. */
const MOST_ROUNDS = 120;

interface Member {
  index: number;
  device: SimulatedDevice;
  session?: DeviceSession;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Simulated devices that enroll and obey, over the wire alone. */
export class Fleet {
  readonly state: FleetState;
  private readonly http: HttpClient;
  private readonly members: Member[];

  constructor(private readonly options: FleetOptions) {
    const { devices, signal, forever } = options;
    setMaxListeners(0, signal); // every request and every pause listens to it
    this.state = new FleetState(devices, options.onChange);
    this.http = new HttpClient({
      patienceMs: forever ? Number.POSITIVE_INFINITY : PATIENCE_MS,
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
      await this.eachMember((member) => this.enrollMember(member));
      await (this.options.forever ? this.pollForever() : this.pollUntilSettled());
    } catch (error) {
      if (!this.options.signal.aborted) throw error;
    } finally {
      this.http.close();
    }
  }

  private createMember(index: number, random: Random): Member {
    const own = random.fork(`device ${index}`);
    const platform = this.options.platform ?? own.pick<LabPlatform>(['iOS', 'macOS']);
    return { index, device: createSimulatedDevice({ platform, random: own }) };
  }

  private eachMember(work: (member: Member) => Promise<void>): Promise<void> {
    const { concurrency, signal } = this.options;
    return forEachLimited(this.members, { limit: concurrency, signal }, work);
  }

  private async enrollMember(member: Member): Promise<void> {
    const { http } = this;
    const { profile: file, url, signal } = this.options;
    this.state.setFate(member.index, 'enrolling');
    try {
      const profile = file ? readProfileFile(file) : await fetchProfile(http, url);
      http.trust(profile.caCertificates.map((der) => encodePem('CERTIFICATE', der)));
      member.session = await enroll(member.device, { http, profile });
      this.state.setFate(member.index, 'enrolled');
    } catch (error) {
      if (!signal.aborted) this.lose(member, error);
      return;
    }
    await this.pollMember(member);
  }

  private lose(member: Member, error: unknown): void {
    this.state.setFate(member.index, error instanceof UnenrolledError ? 'unenrolled' : 'lost');
    this.state.addFailure({
      serialNumber: member.device.identity.serialNumber,
      reason: reasonOf(error),
    });
    delete member.session;
  }

  /** The number of commands offered. */
  private async pollMember(member: Member): Promise<number> {
    const { session } = member;
    if (session === undefined) return 0;
    try {
      const { notNow } = this.options;
      const offers = await poll(session, {
        notNow,
        onAnswer: (status) => this.state.countAnswer(status),
      });
      this.afterPoll(member, session);
      return offers;
    } catch (error) {
      this.afterFailedPoll(member, error);
      return 0;
    }
  }

  private afterPoll(member: Member, session: DeviceSession): void {
    this.state.countPoll();
    this.state.setPostponed(member.index, session.postponed.size);
    const { isErased, isReleased } = session.device;
    if (!isErased && !isReleased) return;
    this.state.setFate(member.index, isErased ? 'erased' : 'released');
    delete member.session;
  }

  /** A device that is only refused goes on trying, as a real one would, if it is to go on at all. */
  private afterFailedPoll(member: Member, error: unknown): void {
    const { signal, forever } = this.options;
    if (signal.aborted) return;
    if (error instanceof UnenrolledError || !forever) {
      this.lose(member, error);
      return;
    }
    this.state.addFailure({
      serialNumber: member.device.identity.serialNumber,
      reason: reasonOf(error),
    });
  }

  /** What an answer makes the server queue comes a moment later, so one quiet round has to pass. */
  private async pollUntilSettled(): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      await sleep(SETTLE_MS, undefined, { signal: this.options.signal });
      let offers = 0;
      await this.eachMember(async (member) => {
        offers += await this.pollMember(member);
      });
      if (offers === 0 && this.state.snapshot().unanswered === 0) return;
    }
  }

  private async pollForever(): Promise<void> {
    const { pollIntervalMs, signal } = this.options;
    await Promise.all(
      this.members.map(async (member) => {
        await sleep(Math.random() * pollIntervalMs, undefined, { signal });
        while (member.session !== undefined) {
          await this.pollMember(member);
          await sleep(pollIntervalMs * (0.9 + Math.random() / 5), undefined, { signal });
        }
      }),
    );
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
}
