import type { Answer } from './answer.js';

export type AnswerStatus = Answer['status'] | 'NotNow';

const FATES = [
  'waiting',
  'enrolling',
  'enrolled',
  /** Erased by a command, or released by one that removed its enrollment profile. */
  'erased',
  'released',
  /** The server no longer recognizes it. */
  'unenrolled',
  /** It could not enroll, or was refused later. */
  'lost',
] as const;

/** Where a device stands. */
export type DeviceFate = (typeof FATES)[number];

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
    const fates = Object.fromEntries(FATES.map((fate) => [fate, 0])) as FleetSnapshot['fates'];
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

/** Every device is enrolled, or gone because a command said so, and owes no answer. */
export function isSettled({ total, fates, unanswered }: FleetSnapshot): boolean {
  return fates.enrolled + fates.erased + fates.released === total && unanswered === 0;
}
