import type { Answer } from '../answers/answer.js';

export type AnswerStatus = Answer['status'] | 'NotNow';

const DEVICE_STAGES = [
  'waiting',
  'enrolling',
  'enrolled',
  /** Erased by a command, or released by one that removed its enrollment profile. */
  'erased',
  'released',
  /** The server no longer recognizes it. */
  'unenrolled',
  /** It could not enroll, or was refused later. */
  'failed',
] as const;

/** What has become of a device. */
export type DeviceStage = (typeof DEVICE_STAGES)[number];

export interface FleetFailure {
  serialNumber: string;
  reason: string;
}

export interface FleetSnapshot {
  total: number;
  stages: Record<DeviceStage, number>;
  answers: Record<AnswerStatus, number>;
  /** Commands answered NotNow and not answered since. */
  unanswered: number;
  /** Enrolled and not pushed since. */
  unpushed: number;
  /** Enrolled and still held in Setup Assistant. */
  awaiting: number;
  pushes: number;
  retries: number;
  polls: number;
  /** Devices that Apple's stand-in does not know, which asked the server directly. */
  unknownToApple: number;
  failures: FleetFailure[];
  seconds: number;
}

const MAX_FAILURES = 1000;

/** Counts what happens to the fleet. */
export class FleetState {
  private readonly startedAt = Date.now();
  private readonly stageOf: DeviceStage[];
  private readonly stages = Object.fromEntries(
    DEVICE_STAGES.map((stage) => [stage, 0]),
  ) as FleetSnapshot['stages'];
  private readonly answers = { Acknowledged: 0, Error: 0, CommandFormatError: 0, NotNow: 0 };
  private readonly failures: FleetFailure[] = [];
  private readonly postponed: number[];
  private readonly unpushed = new Set<number>();
  private readonly awaiting = new Set<number>();
  private unanswered = 0;
  private pushes = 0;
  private retries = 0;
  private polls = 0;
  private unknownToApple = 0;
  private changedAt = this.startedAt;
  private progressedAt = this.startedAt;

  constructor(
    private readonly total: number,
    private readonly onChange: () => void = () => undefined,
  ) {
    this.stageOf = new Array<DeviceStage>(total).fill('waiting');
    this.stages.waiting = total;
    this.postponed = new Array<number>(total).fill(0);
  }

  setStage(index: number, stage: DeviceStage): void {
    this.stages[this.stageOf[index] ?? 'waiting'] -= 1;
    this.stages[stage] += 1;
    this.stageOf[index] = stage;
    if (stage !== 'enrolled') {
      this.setPostponed(index, 0);
      this.unpushed.delete(index);
      this.awaiting.delete(index);
    }
    this.progressed();
  }

  setPostponed(index: number, count: number): void {
    this.unanswered += count - (this.postponed[index] ?? 0);
    this.postponed[index] = count;
  }

  setAwaiting(index: number, isAwaiting: boolean): void {
    if (isAwaiting) this.awaiting.add(index);
    else if (this.awaiting.delete(index)) this.progressed();
  }

  countAnswer(status: AnswerStatus): void {
    this.answers[status] += 1;
    if (status === 'NotNow') this.changed();
    else this.progressed();
  }

  /** The device polls only when pushed: until then it counts as unpushed. */
  expectPush(index: number): void {
    this.unpushed.add(index);
    this.changed();
  }

  countPush(): void {
    this.pushes += 1;
    this.changed();
  }

  countPoll(index: number): void {
    this.polls += 1;
    if (this.unpushed.delete(index)) this.progressed();
    else this.changed();
  }

  countUnknownToApple(): void {
    this.unknownToApple += 1;
    this.changed();
  }

  countRetry(): void {
    this.retries += 1;
    this.changed();
  }

  addFailure(failure: FleetFailure): void {
    if (this.failures.length < MAX_FAILURES) this.failures.push(failure);
    this.changed();
  }

  /** No device waits for its first push, is held in Setup Assistant or has postponed a command. */
  isAtRest(): boolean {
    return this.unanswered === 0 && this.unpushed.size === 0 && this.awaiting.size === 0;
  }

  /** Milliseconds since anything happened. */
  quietMs(): number {
    return Date.now() - this.changedAt;
  }

  /** Milliseconds since the last progress: an answer, an enrollment, a first push. */
  stuckMs(): number {
    return Date.now() - this.progressedAt;
  }

  snapshot(): FleetSnapshot {
    return {
      total: this.total,
      stages: { ...this.stages },
      answers: { ...this.answers },
      unanswered: this.unanswered,
      unpushed: this.unpushed.size,
      awaiting: this.awaiting.size,
      pushes: this.pushes,
      retries: this.retries,
      polls: this.polls,
      unknownToApple: this.unknownToApple,
      failures: [...this.failures],
      seconds: (Date.now() - this.startedAt) / 1000,
    };
  }

  private changed(): void {
    this.changedAt = Date.now();
    this.onChange();
  }

  private progressed(): void {
    this.progressedAt = Date.now();
    this.changed();
  }
}

/** Every device is enrolled, or removed by a command, and has answered everything. */
export function isComplete(snapshot: FleetSnapshot): boolean {
  const { total, stages, unanswered, unpushed, awaiting } = snapshot;
  const isWhole = stages.enrolled + stages.erased + stages.released === total;
  return isWhole && unanswered === 0 && unpushed === 0 && awaiting === 0;
}
