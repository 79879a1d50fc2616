import { encodePem } from '../crypto/asn1/pem.js';
import type { Database } from '../db/connection/database.js';
import { postgresMessage } from '../db/connection/sqlstate.js';
import { listAuthorities } from '../db/pki/authority-repository.js';
import { listDeviceAnchors } from '../db/pki/tls-certificate-repository.js';
import { probeAddress, reasonOf } from './address/address-probe.js';
import type { Check, CheckContext, CredentialReport, SchemaContext } from './check.js';
import { OTHER_SCHEMA, schemaCheck } from './checks/schema.js';
import { CHECKS } from './checks.js';
import {
  type Finding,
  type FindingSeverity,
  type Found,
  warning,
  worstFirst,
  worstOf,
} from './finding.js';

/** The database, or why it cannot be opened. */
export type DoctorDatabase =
  | { db: Database; credentials: () => Promise<CredentialReport> }
  | { failure: Found };

export interface DoctorOptions extends Omit<CheckContext, 'address'> {
  database: DoctorDatabase;
  checks?: readonly Check[] | undefined;
  /** Milliseconds of a check that names none. */
  limitMs?: number | undefined;
}

export interface DoctorReport {
  /** The worst of the findings. */
  status: FindingSeverity;
  /** The worst first. */
  findings: Finding[];
  at: Date;
}

const CHECK_LIMIT_MS = 10_000;

/** Examines the server and what is around it. It changes nothing. */
export class Doctor {
  readonly #options: DoctorOptions;
  #running: Promise<DoctorReport> | undefined;

  constructor(options: DoctorOptions) {
    this.#options = options;
  }

  /** Callers at the same time share one examination. Never rejects. */
  examine(): Promise<DoctorReport> {
    this.#running ??= this.#examine().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #examine(): Promise<DoctorReport> {
    const { database, checks = CHECKS } = this.#options;
    const context = contextOf(this.#options);
    const schema = 'db' in database ? await this.#run(schemaCheck, context) : [];
    const isReadable = 'db' in database && !schema.some(isObstacle);
    const possible = checks.filter(({ needs }) => {
      if (needs === 'nothing') return true;
      return needs === 'schema' ? isReadable : 'db' in database;
    });
    const found = await Promise.all(
      possible.map((check) => (check === schemaCheck ? schema : this.#run(check, context))),
    );
    const failure = 'failure' in database ? [{ check: 'database', ...database.failure }] : [];
    const findings = worstFirst([...failure, ...found.flat()]);
    return { status: worstOf(findings), findings, at: this.#options.now() };
  }

  async #run(check: Check, context: SchemaContext): Promise<Finding[]> {
    const limitMs = check.limitMs ?? this.#options.limitMs ?? CHECK_LIMIT_MS;
    const found = await withinLimit(async () => check.run(context), limitMs).catch(
      (fault: unknown) => [failedFinding(check.name, postgresMessage(fault) ?? reasonOf(fault))],
    );
    return found.map((one) => ({ check: check.name, ...one }));
  }
}

/** Whether the finding prevents the checks that read tables. */
function isObstacle({ code }: Found): boolean {
  return OTHER_SCHEMA.includes(code) || code === 'check_failed';
}

/** Checks that need no database do not see the members that only those with one have. */
function contextOf(options: DoctorOptions): SchemaContext {
  const { config, servesTls, isLabOn, apnsCa, fileProblems, now, database } = options;
  const { publicUrl } = config;
  const opened = 'db' in database ? database : undefined;
  const anchors = async () => (opened === undefined ? [] : await anchorsOf(opened.db));
  let probe: ReturnType<typeof probeAddress> | undefined;
  const address = () => {
    probe ??= probeAddress({ publicUrl, anchors });
    return probe;
  };
  const known = { config, servesTls, isLabOn, apnsCa, fileProblems, now, address };
  return { ...known, db: opened?.db, credentials: opened?.credentials } as SchemaContext;
}

/** What enrollment profiles and DEP profiles make devices trust. */
async function anchorsOf({ knex }: Database): Promise<string[]> {
  const stored = [
    ...(await listDeviceAnchors(knex)),
    ...(await listAuthorities(knex)).map(({ der }) => der),
  ];
  return stored.map((der) => encodePem('CERTIFICATE', der));
}

async function withinLimit<T>(work: () => Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no result within ${ms / 1000} s`)), ms);
  });
  return await Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

function failedFinding(name: string, reason: string): Found {
  const what = `The check ${name} could not be carried out: ${reason}.`;
  const why = 'What it looks for may be wrong without being seen.';
  const cure = 'Correct what the reason names, and run muster doctor again.';
  return warning('check_failed', { what, why, cure });
}
