import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import type { Advice } from '../pki/credentials/credential-advice.js';
import type { Credential } from '../pki/credentials/credential-status.js';
import type { AddressProbe } from './address/address-probe.js';
import type { Found } from './finding.js';

/** The credentials of /api/v1/credentials, and its warnings. */
export interface CredentialReport {
  credentials: readonly Credential[];
  warnings: readonly Advice[];
}

export interface CheckContext {
  /** With the PUBLIC_URL that devices use. */
  config: Config;
  /** Whether this server speaks TLS itself, according to its settings. */
  servesTls: boolean;
  /** The lab's stand-ins take the place of Apple's services. */
  isLabOn: boolean;
  /** PEM of CAs to trust for APNS_HOST; undefined: those of Node.js. */
  apnsCa: string | undefined;
  /** What is wrong with files that settings name. */
  fileProblems: readonly string[];
  now: () => Date;
  /** What PUBLIC_URL answers: asked once for all checks. */
  address: () => Promise<AddressProbe>;
}

export interface DatabaseContext extends CheckContext {
  db: Database;
}

export interface SchemaContext extends DatabaseContext {
  credentials: () => Promise<CredentialReport>;
}

interface Named {
  name: string;
  /** Milliseconds; `CHECK_LIMIT_MS` by default. */
  limitMs?: number | undefined;
}

/**
 * One check. `needs` decides when it runs: always, if the database answers, or if its schema is
 * that of this version. A check that throws becomes the finding `check_failed`.
 */
export type Check = Named &
  (
    | { needs: 'nothing'; run: (context: CheckContext) => Promise<Found[]> | Found[] }
    | { needs: 'database'; run: (context: DatabaseContext) => Promise<Found[]> }
    | { needs: 'schema'; run: (context: SchemaContext) => Promise<Found[]> }
  );
