import type { Database } from '../db/connection/database.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import type { RuleLimits } from '../db/diagnosis/finding-rule.js';
import {
  claimHealthWork,
  evaluateHealth,
  hasHealthWork,
  lockHealth,
  markAllIfRulesChanged,
} from '../db/diagnosis/kept-health.js';
import { AppError } from '../errors.js';
import { Repeater } from '../jobs/repeater.js';
import type { Logger } from '../logger.js';
import { type DiagnosisSettings, limitsOf } from './diagnoses.js';

export interface HealthWorkerDeps {
  db: Database;
  logger: Logger;
  settings: DiagnosisSettings;
  intervalMs?: number | undefined;
}

/** Between two looks for work, each of which reads two pages of indexes. */
const INTERVAL_MS = 500;
/** Devices of one transaction. */
const BATCH = 500;

/**
 * Updates the devices' `health`: evaluates devices whose facts have changed, which triggers mark, and
 * devices with a timer that is due. Each process may have one: marks are removed in the transaction that
 * writes the health, so that a process that dies loses no mark.
 */
export class HealthWorker {
  readonly #deps: HealthWorkerDeps;
  readonly #repeater: Repeater;
  readonly #limits: RuleLimits;
  #isStopping = false;
  #hasMarkedAll = false;

  constructor(deps: HealthWorkerDeps) {
    const { logger, intervalMs = INTERVAL_MS } = deps;
    this.#deps = deps;
    this.#limits = limitsOf(deps.settings);
    this.#repeater = new Repeater(() => this.evaluateAll(), {
      logger,
      intervalMs,
      failureMessage: 'the health of devices could not be evaluated; tried again',
      recoveryMessage: 'the health of devices is evaluated again',
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

  /** Evaluates until no device is left, or another process evaluates. */
  async evaluateAll(): Promise<void> {
    await this.#markAll();
    while (!this.#isStopping && (await hasHealthWork(this.#deps.db, this.#limits))) {
      if (!(await this.#evaluateBatch())) return;
    }
  }

  /** Once in a process: the settings change with its start. */
  async #markAll(): Promise<void> {
    if (this.#hasMarkedAll) return;
    const { db, logger } = this.#deps;
    const devices = await markAllIfRulesChanged(db.knex, this.#limits);
    const text = 'the rules of the diagnosis have changed: the health of all devices is evaluated';
    if (devices > 0) logger.info({ devices }, text);
    this.#hasMarkedAll = true;
  }

  /** False if another process evaluates. */
  async #evaluateBatch(): Promise<boolean> {
    try {
      return await this.#evaluate();
    } catch (error) {
      // A device was deleted meanwhile: it is not among them any more.
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return await this.#evaluate();
    }
  }

  #evaluate(): Promise<boolean> {
    return inTransaction(this.#deps.db, async (trx) => {
      if (!(await lockHealth(trx))) return false;
      const devices = await claimHealthWork(trx, { ...this.#limits, limit: BATCH });
      await evaluateHealth(trx, devices, this.#limits);
      return true;
    });
  }
}
