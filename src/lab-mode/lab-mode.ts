import { type Config, ConfigError } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { type ParsedCertificate, parseCertificate } from '../crypto/x509/certificate.js';
import {
  listAllPushCertificates,
  listRealDepAccounts,
  listWaitingSerials,
  lockLab,
  readLabSetting,
  resumeLabAccounts,
  suspendLabAccounts,
} from '../db/admin/lab-repository.js';
import type { Database } from '../db/connection/database.js';
import { inTransaction, type Transaction } from '../db/connection/unit-of-work.js';
import { revokeCertificate } from '../db/pki/certificate-repository.js';
import { liveProcesses } from '../db/processes/process-repository.js';
import { adviceFor } from '../dep/client/account-status.js';
import { DepError } from '../dep/client/dep-error.js';
import { DepJobs } from '../dep/dep-jobs.js';
import { createJobQueue } from '../jobs/job-queue.js';
import type { ApnsStandIn } from '../lab/apns/apns-stand-in.js';
import type { DepStandIn } from '../lab/dep/dep-stand-in.js';
import {
  certificatePem,
  isOfLab,
  type LabAuthority,
  privateKeyPem,
} from '../lab/pki/lab-authority.js';
import type { Logger } from '../logger.js';
import { findFactoryCa, findServiceCa, makeFactoryCa, makeServiceCa } from './authorities.js';
import { auditCertificate, findTopic, storePushCertificate } from './push-certificate.js';
import type { StandInsDescription } from './stand-ins.js';

export interface LabDeps {
  config: Pick<Config, 'publicUrl' | 'dataDir'>;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

/** The answer to GET /lab. */
export interface LabDescription extends StandInsDescription {
  push_topic: string;
  /** PEM: the holder of the key can make certificates of devices. */
  device_ca: { certificate: string; key: string };
  /** Serial numbers of DEP devices that wait to be enrolled. */
  serials: string[];
}

export interface Lab {
  /** In place of APNS_HOST. */
  apnsHost: string;
  /** PEM, in place of APNS_CA_FILE. */
  apnsCa: string;
  /** In place of DEP_HOST. */
  depHost: string;
  /** PEM, in place of DEP_CA_FILE. */
  depCa: string;
  /** Where the stand-ins are, for a worker that joins them. */
  standIns: StandInsDescription;
  /** Trusted like Apple's factory CAs. */
  factoryCas: readonly ParsedCertificate[];
  describe(): Promise<LabDescription>;
  close(): Promise<void>;
}

/** The lab in the process that has the stand-ins. */
export interface LabWithStandIns extends Lab {
  standIn: ApnsStandIn;
  dep: DepStandIn;
}

const REMEDY = 'use another DATA_DIR or DATABASE_URL for the lab';

interface Prepared {
  authority: LabAuthority;
  factoryCa: LabAuthority;
  topic: string;
}

/**
 * Starts the stand-ins for Apple's push service, with a push certificate, and for DEP, and a CA that
 * certifies simulated devices as Apple certifies real ones.
 */
export async function openLab(deps: LabDeps): Promise<LabWithStandIns> {
  const { authority, factoryCa, topic } = await prepare(deps);
  // Few servers have a lab, so the others do not load its stand-ins.
  const { describeStandIns, startStandIns } = await import('./stand-ins.js');
  const standIns = await startStandIns(deps, authority);
  const { apns, dep } = standIns;
  deps.logger.info(
    { apns: apns.url, control: apns.controlUrl, push_topic: topic, portal: dep.portalUrl },
    `the lab is on: pushes go to its stand-in for APNs; see ${deps.config.publicUrl}/lab`,
  );
  const close = async () => {
    await Promise.all([apns.close(), dep.close()]);
  };
  const lab = labOf(deps, { standIns: describeStandIns(standIns), factoryCa, topic, close });
  return { ...lab, standIn: apns, dep };
}

/** The lab of the primary, in one of its workers. */
export async function joinLab(deps: LabDeps, standIns: StandInsDescription): Promise<Lab> {
  const { factoryCa, topic } = await inTransaction(deps.db, async (trx) => ({
    factoryCa: await findFactoryCa(trx, deps.box),
    topic: await findTopic(trx),
  }));
  if (factoryCa === undefined || topic === undefined) throw new Error('the lab is not prepared');
  return labOf(deps, { standIns, factoryCa, topic, close: () => Promise.resolve() });
}

interface OpenedLab extends Pick<Prepared, 'factoryCa' | 'topic'> {
  standIns: StandInsDescription;
  close(): Promise<void>;
}

function labOf({ db }: LabDeps, { standIns, factoryCa, topic, close }: OpenedLab): Lab {
  const { apns, dep } = standIns;
  return {
    apnsHost: apns.url,
    apnsCa: apns.ca,
    depHost: dep.url,
    depCa: dep.ca,
    standIns,
    factoryCas: [factoryCa.certificate],
    describe: async () => ({
      ...standIns,
      push_topic: topic,
      device_ca: { certificate: certificatePem(factoryCa), key: privateKeyPem(factoryCa) },
      serials: await listWaitingSerials(db.knex),
    }),
    close,
  };
}

/**
 * Without LAB=on nothing of the lab is used: its push certificates are revoked and its DEP accounts
 * suspended. The lab makes a new certificate, with the same topic, when it is on again. ConfigError
 * while it is on in another process.
 */
export async function retireLab({ db, logger }: Pick<LabDeps, 'db' | 'logger'>): Promise<void> {
  const retired = await inTransaction(db, async (trx): Promise<number | string[]> => {
    await lockLab(trx);
    const setting = await readLabSetting(trx);
    if (setting === undefined) return 0;
    const authority = { certificate: parseCertificate(setting.certificate) };
    const all = await listAllPushCertificates(trx);
    const inUse = all.filter(({ is_usable, der }) => is_usable && isOfLab(authority, der));
    const others = inUse.length > 0 ? await otherProcesses(trx) : [];
    if (others.length > 0) return others;
    for (const { id } of inUse) {
      await revokeCertificate(trx, id);
      await auditCertificate(trx, 'certificates.revoke', id);
    }
    await suspendAccounts(trx);
    return inUse.length;
  });
  if (Array.isArray(retired)) {
    const who = retired.join('; ');
    throw new ConfigError([
      `LAB: is on in another process of this database (${who}); stop it first`,
    ]);
  }
  if (retired > 0) {
    logger.info({ certificates: retired }, 'the lab is off: its push certificate is revoked');
  }
}

/** Reads what the lab stores, and creates what is missing. ConfigError beside real credentials. */
async function prepare({ db, box }: LabDeps): Promise<Prepared> {
  const prepared = await inTransaction(db, async (trx): Promise<Prepared | string[]> => {
    await lockLab(trx);
    const known = await findServiceCa(trx, box);
    const problems = await realCredentials(trx, known);
    const others = await otherProcesses(trx);
    if (others.length > 0) {
      const list = others.join('; ');
      problems.push(`LAB: on is for a single process, but others use this database (${list})`);
    }
    if (problems.length > 0) return problems;
    const authority = known ?? (await makeServiceCa(trx, box));
    const factoryCa = (await findFactoryCa(trx, box)) ?? (await makeFactoryCa(trx, box));
    const topic = (await findTopic(trx)) ?? (await storePushCertificate(trx, box, authority));
    await resumeAccounts(trx);
    return { authority, factoryCa, topic };
  });
  if (Array.isArray(prepared)) throw new ConfigError(prepared);
  return prepared;
}

/** Lists real credentials as problems: the lab would mix its devices with real ones permanently. */
async function realCredentials(
  trx: Transaction,
  authority: LabAuthority | undefined,
): Promise<string[]> {
  const all = await listAllPushCertificates(trx);
  const real = all.filter(({ der }) => authority === undefined || !isOfLab(authority, der));
  const problems: string[] = [];
  if (real.length > 0) {
    const ids = real.map(({ id }) => id).join(', ');
    problems.push(`LAB: on does not work beside a real push certificate (id ${ids}); ${REMEDY}`);
  }
  const accounts = await listRealDepAccounts(trx);
  if (accounts.length > 0) {
    const ids = accounts.join(', ');
    problems.push(
      `LAB: on does not work beside a real account of Apple's Automated Device Enrollment (id ${ids}); start ` +
        `with LAB=off and DELETE /api/v1/dep/accounts/ID, or ${REMEDY}`,
    );
  }
  return problems;
}

/** Other processes of this server that run now. */
async function otherProcesses(trx: Transaction): Promise<string[]> {
  const others = await liveProcesses(trx);
  return others.map(({ hostname, pid }) => `${hostname}, process ${pid}`);
}

/** Resumes the DEP accounts of the lab, and confirms them with the stand-in. */
async function resumeAccounts(trx: Transaction): Promise<void> {
  const jobs = new DepJobs(createJobQueue());
  for (const id of await resumeLabAccounts(trx)) await jobs.confirm(trx, id);
}

/** Suspends the DEP accounts of the lab, whose stand-in is off. */
async function suspendAccounts(trx: Transaction): Promise<void> {
  const text = 'the token is one of the lab, which is off';
  const advice = adviceFor('lab_off', new DepError('lab_off', text));
  await suspendLabAccounts(trx, { text, advice });
}
