import { createWarner, type Logger } from '../logger.js';

export interface RepeaterOptions {
  logger: Logger;
  /** Between the end of one run and the start of the next. */
  intervalMs: number;
  /** Logged when a run fails after one that did not, and once in a while at most. */
  complaint: string;
  /** Logged when a run succeeds after that. */
  relief: string;
}

export interface Repeater {
  /** Resolves after the first run, also when it failed. */
  start(): Promise<void>;
  /** Runs soon instead of after the interval; nothing before the start. */
  hurry(): void;
  /** Resolves when no run is under way. */
  stop(): Promise<void>;
}

/** Does something again and again, never twice at a time, whether it fails or not. */
export function createRepeater(
  work: () => Promise<void>,
  { logger, intervalMs, complaint, relief }: RepeaterOptions,
): Repeater {
  let state: 'new' | 'on' | 'off' = 'new';
  const warn = createWarner(logger);
  let isFailing = false;
  let isTold = false;
  let isHurried = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  const attempt = async () => {
    try {
      await work();
      if (isTold) logger.info(relief);
      isFailing = false;
      isTold = false;
    } catch (error) {
      if (!isFailing) isTold = warn({ err: error }, complaint);
      isFailing = true;
    }
    running = undefined;
    if (state === 'on') timer = setTimeout(run, isHurried ? 0 : intervalMs).unref();
    isHurried = false;
  };
  const run = () => {
    clearTimeout(timer);
    running = attempt();
  };
  return {
    start: async () => {
      state = 'on';
      run();
      await running;
    },
    hurry: () => {
      if (state !== 'on') return;
      if (running === undefined) run();
      else isHurried = true;
    },
    stop: async () => {
      state = 'off';
      clearTimeout(timer);
      await running;
    },
  };
}
