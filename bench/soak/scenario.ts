/** How large a scenario is; small in the tests, full in `npm run soak`. */
export interface Size {
  jobs: number;
  /** How long the push service is away. */
  outageMs: number;
  /** What the stand-in takes to answer a push, so that some are under way when something breaks. */
  answerDelayMs: number;
  /** Claims of a dead process are made due, in place of waiting for it. */
  skipsWaiting: boolean;
  /** After what silence a process counts as dead. */
  silentMs: number;
  /** The server of the database is crashed, not only its connections. */
  crashesDatabase: boolean;
}

export interface ScenarioResult {
  name: string;
  /** Promises that were not kept, in words. */
  broken: string[];
  figures: Record<string, number>;
}

/** Within so long after all is well again each device with waiting commands was pushed. */
export const RECOVERY_MS = 60_000;
