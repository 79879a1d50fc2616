import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { claimMarks, hasMarks, type Mark } from '../db/groups/group-marks.js';
import { lockEvaluation } from '../db/groups/smart-group-state.js';
import { AppError } from '../errors.js';
import { Repeater } from '../jobs/repeater.js';
import type { Logger } from '../logger.js';
import { evaluateGroups } from './group-evaluation.js';
import type { Bundle, LoadedRules } from './loaded-rules.js';

export interface MarkWorkerDeps {
  db: Database;
  logger: Logger;
  rules: LoadedRules;
  intervalMs?: number | undefined;
}

/** Between two looks for marks, each of which reads one page of an index. */
const INTERVAL_MS = 500;
/** Marks of one transaction. */
const BATCH = 1_000;

/**
 * Evaluates the rules that mention a changed fact for the devices that changed. Every process may have
 * one: the marks are removed in the transaction that writes the members, and only one evaluates at a
 * time, so that a process that dies loses no mark.
 */
export class MarkWorker {
  readonly #deps: MarkWorkerDeps;
  readonly #repeater: Repeater;
  #isStopping = false;

  constructor(deps: MarkWorkerDeps) {
    const { logger, intervalMs = INTERVAL_MS } = deps;
    this.#deps = deps;
    this.#repeater = new Repeater(() => this.evaluateAll(), {
      logger,
      intervalMs,
      failureMessage: 'the rules of smart groups could not be evaluated; they are tried again',
      recoveryMessage: 'the rules of smart groups are evaluated again',
    });
  }

  async start(): Promise<void> {
    this.#isStopping = false;
    await this.#repeater.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#repeater.stop();
  }

  /** Until no mark waits: changed members are facts of the rules that look into their group. */
  async evaluateAll(): Promise<void> {
    while (!this.#isStopping && (await hasMarks(this.#deps.db))) await this.#evaluateBatch();
  }

  async #evaluateBatch(): Promise<void> {
    const { db } = this.#deps;
    try {
      await inTransaction(db, (trx) => this.#evaluate(trx, false));
    } catch (error) {
      // The next look tries again once the database is back.
      if (!(error instanceof AppError) || error.status === 503) throw error;
      await inTransaction(db, (trx) => this.#evaluate(trx, true));
    }
  }

  async #evaluate(trx: Transaction, isIsolated: boolean): Promise<void> {
    const { rules: loaded, logger } = this.#deps;
    await lockEvaluation(trx);
    const marks = await claimMarks(trx, BATCH);
    const changed = changedFacts(marks);
    for (const rules of await loaded.current(trx)) {
      const deviceIds = concernedDevices(rules, changed);
      await evaluateGroups(trx, { rules, deviceIds, countsFlaps: true, isIsolated }, logger);
    }
  }
}

/** The facts that have changed, by device. */
function changedFacts(marks: readonly Mark[]): Map<number, Set<string>> {
  const changed = new Map<number, Set<string>>();
  for (const { deviceId, facts } of marks) {
    const known = changed.get(deviceId) ?? new Set();
    for (const fact of facts) known.add(fact);
    changed.set(deviceId, known);
  }
  return changed;
}

const EVERY_FACT = '*';

/** The devices of which a rule of the bundle mentions a changed fact, by id. */
function concernedDevices(rules: Bundle, changed: Map<number, Set<string>>): number[] {
  const mentioned = new Set(rules.flatMap(({ facts }) => [...facts]));
  return [...changed]
    .filter(([, facts]) => facts.has(EVERY_FACT) || hasCommon(facts, mentioned))
    .map(([deviceId]) => deviceId)
    .sort((one, other) => one - other);
}

function hasCommon(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const one of some) if (others.has(one)) return true;
  return false;
}
