import { readCredentialReport } from '../../api/credentials/credentials.js';
import { type Config, withHttps } from '../../config/config.js';
import { SecretBox } from '../../crypto/secrets/secret-box.js';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { listAllPushCertificates, readLabSetting } from '../../db/admin/lab-repository.js';
import type { Database } from '../../db/connection/database.js';
import { findMasterKey } from '../../doctor/checks/master-key.js';
import { Doctor, type DoctorDatabase } from '../../doctor/doctor.js';
import { error } from '../../doctor/finding.js';
import { isOfLab } from '../../lab/pki/lab-authority.js';
import { createLogger } from '../../logger.js';
import { openTlsCertificates, type TlsCertificates } from '../../pki/tls/tls-certificates.js';
import { fileProblems, readApnsCa } from '../../server/config-files.js';
import { openDatabase } from '../../server/main.js';
import type { OpenDatabase } from '../../server/serving.js';
import { type Missing, missingDatabase, missingText } from '../missing-database.js';

/** The report says what went wrong; the log would repeat it. */
const SILENT = createLogger('silent');

const FEW_CONNECTIONS = { device: 1, admin: 3, list: 1, background: 2 };

/**
 * Opens what a doctor beside the server needs, as far as it can be opened. It makes nothing: neither a
 * database, nor keys, nor the schema. An embedded PostgreSQL that is stopped is started for the check.
 */
export async function withDoctor<T>(
  config: Config,
  work: (doctor: Doctor) => Promise<T>,
): Promise<T> {
  const opened = await open(config);
  const db = 'db' in opened ? opened.db : undefined;
  try {
    const tls = db && (await readTlsCertificates(config, db));
    const isLabOn = config.lab || (db !== undefined && (await isLabInUse(db)));
    const servesTls = tls?.servesTls ?? config.tls !== undefined;
    const reached = servesTls ? withHttps(config) : config;
    const shown = { ...reached, lab: isLabOn };
    const problems = fileProblems(config);
    const doctor = new Doctor({
      config: shown,
      servesTls,
      isLabOn,
      apnsCa: apnsCaOf(config),
      fileProblems: problems,
      now: () => new Date(),
      database: databaseOf(opened, shown, tls),
    });
    return await work(doctor);
  } finally {
    if ('close' in opened) await opened.close();
  }
}

/** undefined also for a file that cannot be read, which is one of the problems. */
function apnsCaOf(config: Config): string | undefined {
  try {
    return readApnsCa(config);
  } catch {
    return undefined;
  }
}

type Opened = OpenDatabase | Extract<DoctorDatabase, { failure: unknown }>;

async function open(config: Config): Promise<Opened> {
  const { databaseUrl, dataDir } = config;
  const missing = missingDatabase(config);
  if (missing !== undefined) return { failure: missingFinding(missing, dataDir) };
  try {
    return await openDatabase(config, SILENT, { mode: 'use', sizes: FEW_CONNECTIONS });
  } catch (fault) {
    return { failure: unreachable(fault, databaseUrl !== undefined) };
  }
}

const MISSING = {
  unreadable: {
    code: 'data_dir_unreadable',
    why: 'The embedded database and the master key are in it: nothing of them can be checked.',
  },
  none: {
    code: 'database_missing',
    why: 'Muster was never started here, or these settings are not those of the server.',
  },
} as const;

function missingFinding(missing: Missing, dataDir: string) {
  const { code, why } = MISSING[missing.kind];
  return error(code, { ...missingText(missing, { dataDir, command: 'doctor' }), why });
}

function unreachable(fault: unknown, isExternal: boolean) {
  const { message } = fault as Error;
  const why = 'Devices get 503, and nothing of the database can be checked.';
  const cure = isExternal
    ? 'Start PostgreSQL, and check host, port, user and password of DATABASE_URL: psql "$DATABASE_URL" -c "select 1"'
    : 'See DATA_DIR/postgres/postgres.log and docs/troubleshooting.md, "PostgreSQL".';
  return error('database_unreachable', { what: message, why, cure });
}

function databaseOf(
  opened: Opened,
  config: Config,
  tls: TlsCertificates | undefined,
): DoctorDatabase {
  if ('failure' in opened) return opened;
  const { db } = opened;
  const tlsCaveats = () => tls?.caveats ?? [];
  const tlsFile = () => (config.tls && tls?.current)?.certificate;
  return { db, credentials: () => readCredentialReport({ db, config, tlsCaveats, tlsFile }) };
}

/** As the next start would find them; undefined where they cannot be read, which the checks explain. */
async function readTlsCertificates(
  config: Config,
  db: Database,
): Promise<TlsCertificates | undefined> {
  try {
    const key = findMasterKey(config);
    if (key === undefined) return undefined;
    return await openTlsCertificates({ config, db, box: new SecretBox(key), logger: SILENT });
  } catch {
    return undefined;
  }
}

/** LAB=on may be set for the server alone: its push certificate is in use then. */
async function isLabInUse({ knex }: Database): Promise<boolean> {
  try {
    const setting = await readLabSetting(knex);
    if (setting === undefined) return false;
    const authority = { certificate: parseCertificate(setting.certificate) };
    const all = await listAllPushCertificates(knex);
    return all.some(({ is_usable, der }) => is_usable && isOfLab(authority, der));
  } catch {
    return false;
  }
}
