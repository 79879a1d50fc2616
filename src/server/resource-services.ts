import { CommandAdministration, type PresentInThread } from '../commands/command-administration.js';
import type { CommandQueue } from '../commands/queue.js';
import { renameDevice } from '../commands/rename.js';
import { hashPassword } from '../crypto/secrets/password-hash.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { releaseDepDevices } from '../db/dep/dep-device-handover.js';
import { type DepProfile, findProfileUses } from '../db/dep/dep-profile-repository.js';
import { recordToken } from '../db/dep/dep-token-repository.js';
import { deleteDevice, findIdentifierOwners } from '../db/devices/device-repository.js';
import { DesiredProfiles } from '../dep/assignments/desired-profiles.js';
import { DepJobs } from '../dep/dep-jobs.js';
import { profileWarnings } from '../dep/profiles/profile-warnings.js';
import { requestSync } from '../dep/sync/sync-tasks.js';
import { requireSameEnvironment } from '../dep/tokens/token-checks.js';
import { EnrollmentLinks } from '../enroll/link/enrollment-links.js';
import { notFound } from '../errors.js';
import { createJobQueue, JobService } from '../jobs/job-queue.js';
import type { TlsUse } from '../pki/certificates/certificate-checks.js';
import { CertificateService } from '../pki/certificates/certificate-service.js';
import { SigningRequestService } from '../pki/signing-requests/signing-request-service.js';
import type { ResourceServices } from '../resources/services.js';

export interface ResourceServiceDeps {
  box: SecretBox;
  queue: CommandQueue;
  /** What devices are told; without a slash at its end. */
  publicUrl: string;
  /** Without it large results are written at once. */
  presentInThread?: PresentInThread;
  /** After the commit of a change to the CAs that are believed in. */
  onAuthoritiesChange?: () => void;
  /** In the transaction that brings or changes the push certificate of a topic. */
  onPushCertificate?: (trx: Transaction, topic: string) => Promise<void>;
  /** In the transaction that brings or changes a certificate of the server that ends soon. */
  onEndingCredential?: (trx: Transaction) => Promise<void>;
  /** The lab has its own push certificate: no other may be added, nor tokens of Apple's. */
  isLabOn?: boolean;
  /** What stored ssl certificates are to this process. */
  tlsUse?: TlsUse;
}

const CONSUMER_KEY = { pointer: '/data/attributes/consumer_key' };

/** What the resources need of the rest, put together: for the container and for tests. */
export function createResourceServices(deps: ResourceServiceDeps): ResourceServices {
  const { box, queue, publicUrl, isLabOn: isLab = false } = deps;
  const { onAuthoritiesChange = () => undefined, onPushCertificate, tlsUse } = deps;
  const { onEndingCredential } = deps;
  const depJobs = new DepJobs(createJobQueue());
  const desiredProfiles = new DesiredProfiles(depJobs);
  return {
    commands: new CommandAdministration(box, queue, deps.presentInThread),
    settings: { rename: (trx: Transaction, input) => renameDevice(trx, input, queue) },
    devices: {
      findOwners: findIdentifierOwners,
      remove: async (trx: Transaction, { id }) => {
        if (!(await deleteDevice(trx, id))) throw notFound(`device ${id}`);
      },
    },
    secrets: { seal: (secret, identity) => box.seal(Buffer.from(secret, 'utf8'), identity) },
    passwords: { hash: hashPassword },
    depServices: {
      enrollmentUrl: `${publicUrl}/dep/enroll`,
      profileWarnings: (profile) =>
        profileWarnings(profile as unknown as DepProfile, `${publicUrl}/dep/enroll`),
      profileUses: (trx: Transaction, id: number) => findProfileUses(trx, id),
      assignProfile: (trx: Transaction, wish) => desiredProfiles.assign(trx, wish),
      unassignProfile: (trx: Transaction, wish) => desiredProfiles.unassign(trx, wish),
      releaseDevices: (trx: Transaction, id: number) => releaseDepDevices(trx, id),
      requireSameEnvironment: (key) =>
        requireSameEnvironment(key, { isLabOn: isLab, source: CONSUMER_KEY }),
      tokenChanged: async (trx: Transaction, { accountId, by }) => {
        if (await recordToken(trx, accountId, by)) await depJobs.confirm(trx, accountId);
      },
      syncAccount: (trx: Transaction, id: number, { isFull }: { isFull: boolean }) =>
        requestSync(trx, depJobs, { accountId: id, isFull }),
      defineProfile: (trx: Transaction, id: number) => depJobs.define(trx, id),
      assignProfiles: (trx: Transaction, id: number) => depJobs.assign(trx, id),
      reconcileAccount: (trx: Transaction, id: number) => depJobs.reconcile(trx, id),
    },
    enrollmentLinks: new EnrollmentLinks({ box, publicUrl }),
    scep: { ownUrl: `${publicUrl}/scep` },
    certificates: new CertificateService({
      ...{ box, isLab, onAuthoritiesChange },
      ...(onPushCertificate === undefined ? {} : { onPushCertificate }),
      ...(onEndingCredential === undefined ? {} : { onEndingCredential }),
      ...(tlsUse === undefined ? {} : { tlsUse }),
    }),
    signingRequests: new SigningRequestService(box),
    jobs: new JobService(),
  };
}
