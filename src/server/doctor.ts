import { type CredentialRouteDeps, readCredentialReport } from '../api/credentials/credentials.js';
import type { Config } from '../config/config.js';
import { Doctor } from '../doctor/doctor.js';
import { readApnsCa } from './config-files.js';

export interface ServerDoctorDeps
  extends Required<Pick<CredentialRouteDeps, 'db' | 'tlsCaveats' | 'tlsFile'>> {
  config: Config;
  /** Whether this process speaks TLS. */
  servesTls: boolean;
}

/** Examines this server from within: of GET /api/v1/doctor. */
export function createServerDoctor({ config, servesTls, ...facts }: ServerDoctorDeps): Doctor {
  const credentials = () => readCredentialReport({ ...facts, config });
  return new Doctor({
    config,
    servesTls,
    isLabOn: config.lab,
    apnsCa: readApnsCa(config),
    fileProblems: [],
    now: () => new Date(),
    database: { db: facts.db, credentials },
  });
}
