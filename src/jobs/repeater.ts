import { createWarner, type Logger, type Warner } from '../logger.js';

export interface RepeaterOptions {
  logger: Logger;
  /** Between the end of one run and the start of the next. */
  intervalMs: number;
  /** Logged when a run fails after one that succeeded, and at most once in a while. */
  failureMessage: string;
  /** Logged when a run succeeds after that. */
  recoveryMessage: string;
}

/** Repeats `work`, never twice at a time, whether it fails or not. */
export class Repeater {
  readonly #work: () => Promise<void>;
  readonly #options: RepeaterOptions;
  readonly #warn: Warner;
  #isOn = false;
  #isFailing = false;
  #isWarned = false;
  #isHurried = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(work: () => Promise<void>, options: RepeaterOptions) {
    this.#work = work;
    this.#options = options;
    this.#warn = createWarner(options.logger);
  }

  /** Resolves after the first run, also when it failed. */
  async start(): Promise<void> {
    this.#isOn = true;
    this.#run();
    await this.#running;
  }

  /** Runs soon instead of after the interval; without effect before the start. */
  hurry(): void {
    if (!this.#isOn) return;
    if (this.#running === undefined) this.#run();
    else this.#isHurried = true;
  }

  /** Resolves when no run is under way. */
  async stop(): Promise<void> {
    this.#isOn = false;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#running = this.#attempt();
  }

  async #attempt(): Promise<void> {
    const { logger, intervalMs, failureMessage, recoveryMessage } = this.#options;
    try {
      await this.#work();
      if (this.#isWarned) logger.info(recoveryMessage);
      this.#isFailing = false;
      this.#isWarned = false;
    } catch (error) {
      if (!this.#isFailing) this.#isWarned = this.#warn({ err: error }, failureMessage);
      this.#isFailing = true;
    }
    this.#running = undefined;
    const pause = this.#isHurried ? 0 : intervalMs;
    if (this.#isOn) this.#timer = setTimeout(() => this.#run(), pause).unref();
    this.#isHurried = false;
  }
}
