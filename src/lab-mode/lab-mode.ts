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
import { insertCertificate, revokeCertificate } from '../db/pki/certificate-repository.js';
import { liveProcesses } from '../db/processes/process-repository.js';
import { adviceFor } from '../dep/client/account-status.js';
import { DepError } from '../dep/client/dep-error.js';
import { DepJobs } from '../dep/dep-jobs.js';
import { systemContext, writeAudit } from '../events/audit.js';
import { createJobQueue } from '../jobs/job-queue.js';
import type { ApnsStandIn } from '../lab/apns/apns-stand-in.js';
import type { DepStandIn } from '../lab/dep/dep-stand-in.js';
import {
  certificatePem,
  isOfLab,
  issuePushCertificate,
  type LabAuthority,
  privateKeyPem,
} from '../lab/pki/lab-authority.js';
import type { Logger } from '../logger.js';
import { certificateRecord } from '../pki/certificates/certificate-record.js';
import { storeSealedKey } from '../pki/certificates/stored-keys.js';
import { rearmTopics } from '../push/rearm-task.js';
import { findFactoryCa, findServiceCa, makeFactoryCa, makeServiceCa } from './authorities.js';
import { describeStandIns, type StandInsDescription, startStandIns } from './stand-ins.js';

export interface LabDeps {
  config: Pick<Config, 'publicUrl' | 'dataDir'>;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

/** What GET /lab tells. */
export interface LabDescription extends StandInsDescription {
  push_topic: string;
  /** PEM: whoever holds the key can make certificates of devices. */
  device_ca: { certificate: string; key: string };
  /** Of devices of Apple's enrollment program that wait to be enrolled. */
  serials: string[];
}

export interface Lab {
  /** In place of APNS_HOST. */
  apnsHost: string;
  /** PEM, in place of APNS_CA_FILE. */
  apnsCa: string;
  standIn: ApnsStandIn;
  /** In place of DEP_HOST. */
  depHost: string;
  /** PEM, in place of DEP_CA_FILE. */
  depCa: string;
  dep: DepStandIn;
  /** Believed as Apple's device CAs are. */
  factoryCas: readonly ParsedCertificate[];
  describe(): Promise<LabDescription>;
  close(): Promise<void>;
}

/** One that ends sooner gets a successor, so that a lab that stays up never runs out of it. */
const ENOUGH_MS = 30 * 86_400_000;
const REMEDY = 'use another DATA_DIR or DATABASE_URL for the lab';

/** Other processes of this server that run now. */
async function otherProcesses(trx: Transaction): Promise<string[]> {
  const others = await liveProcesses(trx);
  return others.map(({ hostname, pid }) => `${hostname}, process ${pid}`);
}

/** Lab and real devices would be mixed up for good. */
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
      `LAB: on does not work beside a real account of Apple's enrollment program (id ${ids}); start ` +
        `with LAB=off and DELETE /api/v1/dep/accounts/ID, or ${REMEDY}`,
    );
  }
  return problems;
}

/** The topic of the stored push certificate that will do for a while. */
async function findTopic(trx: Transaction): Promise<string | undefined> {
  const all = await listAllPushCertificates(trx);
  const usable = all.find(
    ({ is_usable, not_after }) => is_usable && not_after.getTime() > Date.now() + ENOUGH_MS,
  );
  return usable && parseCertificate(usable.der).userId;
}

/** The former topic is kept, as a renewal at Apple keeps it: enrolled devices listen to it. */
async function formerTopic(trx: Transaction): Promise<string | undefined> {
  const [newest] = await listAllPushCertificates(trx);
  return newest && parseCertificate(newest.der).userId;
}

async function storePushCertificate(
  trx: Transaction,
  box: SecretBox,
  authority: LabAuthority,
): Promise<string> {
  const former = await formerTopic(trx);
  const made = await issuePushCertificate(authority, former === undefined ? {} : { topic: former });
  const { certificate, privateKey, topic } = made;
  const name = certificate.commonName ?? null;
  const keyId = await storeSealedKey(trx, box, { key: privateKey, name });
  const record = certificateRecord(certificate, 'mdm.pushcert');
  const id = await insertCertificate(trx, { ...record, rsa_private_key_id: keyId });
  await auditCertificate(trx, 'certificates.create', id);
  await rearmTopics(createJobQueue(), trx, [topic]);
  return topic;
}

async function auditCertificate(trx: Transaction, action: string, id: number): Promise<void> {
  await writeAudit(trx, {
    context: systemContext(),
    action,
    targetType: 'certificates',
    targetId: id,
    outcome: 'success',
    details: { purpose: 'mdm.pushcert', lab: true },
  });
}

interface Prepared {
  authority: LabAuthority;
  factoryCa: LabAuthority;
  topic: string;
}

/** What the lab keeps in the database, made where it is missing. ConfigError beside what is real. */
async function prepare({ db, box }: LabDeps): Promise<Prepared> {
  const prepared = await inTransaction(db, async (trx): Promise<Prepared | string[]> => {
    await lockLab(trx);
    const known = await findServiceCa(trx, box);
    const problems = await realCredentials(trx, known);
    const others = await otherProcesses(trx);
    if (others.length > 0) {
      const who = others.join('; ');
      problems.push(`LAB: on is for a single process, but others use this database (${who})`);
    }
    if (problems.length > 0) return problems;
    const authority = known ?? (await makeServiceCa(trx, box));
    const factoryCa = (await findFactoryCa(trx, box)) ?? (await makeFactoryCa(trx, box));
    const topic = (await findTopic(trx)) ?? (await storePushCertificate(trx, box, authority));
    await reviveAccounts(trx);
    return { authority, factoryCa, topic };
  });
  if (Array.isArray(prepared)) throw new ConfigError(prepared);
  return prepared;
}

/**
 * Starts what LAB=on promises: the stand-ins for Apple's push service, with a certificate for it, and
 * for its enrollment program, and a CA that certifies simulated devices as Apple certifies real ones.
 */
export async function openLab(deps: LabDeps): Promise<Lab> {
  const { authority, factoryCa, topic } = await prepare(deps);
  const standIns = await startStandIns(deps, authority);
  const { apns, dep } = standIns;
  deps.logger.info(
    { apns: apns.url, control: apns.controlUrl, push_topic: topic, portal: dep.portalUrl },
    `the lab is on: pushes go to its stand-in for APNs; see ${deps.config.publicUrl}/lab`,
  );
  return {
    apnsHost: apns.url,
    apnsCa: apns.caPem,
    standIn: apns,
    depHost: dep.url,
    depCa: dep.caPem,
    dep,
    factoryCas: [factoryCa.certificate],
    describe: async () => ({
      ...describeStandIns(standIns),
      push_topic: topic,
      device_ca: { certificate: certificatePem(factoryCa), key: privateKeyPem(factoryCa) },
      serials: await listWaitingSerials(deps.db.knex),
    }),
    close: async () => {
      await Promise.all([apns.close(), dep.close()]);
    },
  };
}

/**
 * Without LAB=on nothing of the lab is used any more: its push certificates are revoked, and accounts
 * with tokens of its own rest. The lab makes a new certificate, with the same topic, when it is on
 * again. ConfigError while it is on in another process.
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
    await retireAccounts(trx);
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

/** The stand-in that made their tokens is off: they say so. Returns how many it was news to. */
async function retireAccounts(trx: Transaction): Promise<number> {
  const text = 'the token is one of the lab, which is off';
  const advice = adviceFor('lab_off', new DepError('lab_off', text));
  return await suspendLabAccounts(trx, { text, advice });
}

/** It is on again, and is asked about them. */
async function reviveAccounts(trx: Transaction): Promise<void> {
  const jobs = new DepJobs(createJobQueue());
  for (const id of await resumeLabAccounts(trx)) await jobs.confirm(trx, id);
}
