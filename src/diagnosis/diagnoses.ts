import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { findTimelineFacts } from '../db/diagnosis/command-timeline.js';
import { type RuleLimits, SEVERITIES, type Severity } from '../db/diagnosis/finding-rule.js';
import { findFindings } from '../db/diagnosis/findings.js';
import { type HealthSummary, readHealthSummary } from '../db/diagnosis/health-summary.js';
import type { FindingText } from './finding-text.js';
import { textOf } from './finding-texts.js';
import { pastSteps, type TimelineStep } from './timeline-steps.js';
import { waitingStep } from './timeline-waiting.js';

export { SEVERITIES };

/** The settings that rules depend on. */
export type DiagnosisSettings = Pick<
  Config,
  'silentAfter' | 'busyAfter' | 'inventoryStaleAfter' | 'setupTimeout' | 'identityGrace'
>;

export type Health = 'ok' | 'attention' | 'stuck';

export interface Finding extends FindingText {
  code: string;
  severity: Severity;
  since: Date;
}

export interface Diagnosis {
  /** Null: not enrolled, and nothing is wrong. */
  health: Health | null;
  /** The worst first. */
  findings: Finding[];
  at: Date;
}

/** What happened to a command. */
export interface Timeline {
  requestType: string;
  status: string;
  /** In order of time; the last one of a command that is not final says why it waits. */
  steps: TimelineStep[];
  at: Date;
}

/** Says of a device what is wrong with it and what helps, by the facts as they are now. */
export class Diagnoses {
  readonly #db: Database;
  readonly #limits: RuleLimits;

  constructor(db: Database, settings: DiagnosisSettings) {
    this.#db = db;
    this.#limits = limitsOf(settings);
  }

  /** Undefined if there is no such device. Rejects with AppError. */
  async of(deviceId: number): Promise<Diagnosis | undefined> {
    const found = await findFindings(this.#db.knex, deviceId, this.#limits).catch(
      (error: unknown) => {
        throw toAppError(error);
      },
    );
    if (found === undefined) return undefined;
    const findings = found.findings.map((row) => {
      const { code, severity, since } = row;
      return { code, severity, since, ...textOf(deviceId, row) };
    });
    const severities = findings.map(({ severity }) => severity);
    return { health: healthOf(severities, found.is_enrolled), findings, at: found.now };
  }

  /** What happened to a command. Undefined if there is no such command. Rejects with AppError. */
  async timeline(commandId: number): Promise<Timeline | undefined> {
    const { silent } = this.#limits;
    const facts = await findTimelineFacts(this.#db.knex, commandId, silent).catch(
      (error: unknown) => {
        throw toAppError(error);
      },
    );
    if (facts === undefined) return undefined;
    const waiting = waitingStep(facts);
    const steps = [...pastSteps(facts), ...(waiting === undefined ? [] : [waiting])];
    return { requestType: facts.request_type, status: facts.status, steps, at: facts.now };
  }

  /** Counts the devices by finding and by health, as the health worker keeps them. */
  async summary(): Promise<HealthSummary> {
    return await readHealthSummary(this.#db).catch((error: unknown) => {
      throw toAppError(error);
    });
  }
}

function healthOf(severities: Severity[], isEnrolled: boolean): Health | null {
  if (severities.includes('stuck')) return 'stuck';
  if (severities.includes('attention')) return 'attention';
  return isEnrolled ? 'ok' : null;
}

export function limitsOf(settings: DiagnosisSettings): RuleLimits {
  const { silentAfter, busyAfter, inventoryStaleAfter, setupTimeout, identityGrace } = settings;
  return {
    silent: silentAfter ?? null,
    busy: busyAfter ?? null,
    stale: inventoryStaleAfter ?? null,
    setup: 2 * setupTimeout,
    grace: identityGrace,
  };
}
