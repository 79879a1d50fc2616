import type { Answer } from './answer.js';

export type AnswerStatus = Answer['status'] | 'NotNow';

/** Where each device stands; `lost` ones could not enroll or were refused later. */
export type DeviceFate = 'waiting' | 'enrolling' | 'enrolled' | 'unenrolled' | 'erased' | 'lost';

export interface FleetFailure {
  serialNumber: string;
  reason: string;
}

export interface FleetSnapshot {
  total: number;
  fates: Record<DeviceFate, number>;
  answers: Record<AnswerStatus, number>;
  /** Commands put off with NotNow and not answered since. */
  unanswered: number;
  retries: number;
  polls: number;
  failures: FleetFailure[];
  seconds: number;
}

const MOST_FAILURES = 1000;

/** Counts what happens to the fleet. */
export class FleetState {
  private readonly startedAt = Date.now();
  private readonly fateOf: DeviceFate[];
  private readonly answers = { Acknowledged: 0, Error: 0, CommandFormatError: 0, NotNow: 0 };
  private readonly failures: FleetFailure[] = [];
  private readonly postponed: number[];
  private retries = 0;
  private polls = 0;

  constructor(
    private readonly total: number,
    private readonly onChange: () => void = () => undefined,
  ) {
    this.fateOf = new Array<DeviceFate>(total).fill('waiting');
    this.postponed = new Array<number>(total).fill(0);
  }

  setFate(index: number, fate: DeviceFate): void {
    this.fateOf[index] = fate;
    if (fate !== 'enrolled') this.postponed[index] = 0;
    this.onChange();
  }

  setPostponed(index: number, count: number): void {
    this.postponed[index] = count;
  }

  countAnswer(status: AnswerStatus): void {
    this.answers[status] += 1;
    this.onChange();
  }

  countPoll(): void {
    this.polls += 1;
    this.onChange();
  }

  countRetry(): void {
    this.retries += 1;
    this.onChange();
  }

  addFailure(failure: FleetFailure): void {
    if (this.failures.length < MOST_FAILURES) this.failures.push(failure);
    this.onChange();
  }

  snapshot(): FleetSnapshot {
    const fates = { waiting: 0, enrolling: 0, enrolled: 0, unenrolled: 0, erased: 0, lost: 0 };
    for (const fate of this.fateOf) fates[fate] += 1;
    return {
      total: this.total,
      fates,
      answers: { ...this.answers },
      unanswered: this.postponed.reduce((sum, count) => sum + count, 0),
      retries: this.retries,
      polls: this.polls,
      failures: [...this.failures],
      seconds: (Date.now() - this.startedAt) / 1000,
    };
  }
}

/** Every device is enrolled (or was erased on command) and owes no answer. */
export function isSettled({ total, fates, unanswered }: FleetSnapshot): boolean {
  return fates.enrolled + fates.erased === total && unanswered === 0;
}
