import { Requirements } from '../assignments/requirements.js';
import { Rollouts } from '../assignments/rollouts/rollouts.js';
import { CommandBatches } from '../batches/command-batches.js';
import { CommandAdministration, type PresentInThread } from '../commands/command-administration.js';
import type { CommandQueue } from '../commands/queue.js';
import { renameDevice } from '../commands/rename-device.js';
import { hashPassword, type PasswordCost } from '../crypto/secrets/password-hash.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { setCustomAttribute } from '../db/devices/custom-attributes.js';
import { changedByAdmin } from '../db/devices/device-changes.js';
import {
  deleteDevice,
  findIdentifierOwners,
  guardOfNewDevice,
} from '../db/devices/device-repository.js';
import { irreplaceableSecrets } from '../db/devices/device-secrets.js';
import { DepAdministration } from '../dep/dep-administration.js';
import { EnrollmentLinks } from '../enroll/link/enrollment-links.js';
import { notFound } from '../errors.js';
import { SmartGroups } from '../groups/smart-groups.js';
import { createJobQueue, JobService } from '../jobs/job-queue.js';
import {
  createRegistry,
  type Registry,
  type ResourceDefinition,
} from '../jsonapi/definition/definition.js';
import type { TlsUse } from '../pki/certificates/certificate-checks.js';
import { CertificateService } from '../pki/certificates/certificate-service.js';
import { FileVaultKey } from '../pki/credentials/filevault-key.js';
import { SigningRequestService } from '../pki/signing-requests/signing-request-service.js';
import { ProfileSecrets } from '../profiles/profile-secrets.js';
import { DEFINITIONS, type ResourceServices } from '../resources/index.js';

export interface ResourceServiceDeps {
  box: SecretBox;
  queue: CommandQueue;
  /** Makes one when left out. */
  fileVaultKey?: FileVaultKey;
  /** Where devices reach this server; without a slash at its end. */
  publicUrl: string;
  /** Without it large results are written at once. */
  presentInThread?: PresentInThread;
  /** After the commit of a change to the trusted CAs. */
  onAuthoritiesChange?: () => void;
  /** In the transaction that brings or changes the push certificate of a topic. */
  onPushCertificate?: (trx: Transaction, topic: string) => Promise<void>;
  /** In the transaction that brings or changes a certificate of the server that ends soon. */
  onEndingCredential?: (trx: Transaction) => Promise<void>;
  /** The lab has its own push certificate: no other may be added, nor tokens of Apple's. */
  isLabOn?: boolean;
  /** What stored ssl certificates are to this process. */
  tlsUse?: TlsUse;
  /** Batches for more devices have to be confirmed. */
  confirmAbove?: number;
  /** After the commit of a batch of commands. */
  onBatch?: () => void;
  /** scrypt cost of password hashes; only tests change it. */
  passwordCost?: PasswordCost | undefined;
}

/** The types that rules of smart groups are read by. */
export function resourceRegistry(): Registry {
  return createRegistry(DEFINITIONS as ResourceDefinition[]);
}

/** What the resources need of the other modules, put together: for the container and for tests. */
export function createResourceServices(deps: ResourceServiceDeps) {
  const { box, queue, publicUrl, isLabOn = false, onAuthoritiesChange = () => undefined } = deps;
  const { fileVaultKey = new FileVaultKey(box) } = deps;
  const { onPushCertificate, onEndingCredential, tlsUse, passwordCost } = deps;
  const jobs = createJobQueue();
  const { confirmAbove = 500, onBatch: wake = () => undefined } = deps;
  const commands = new CommandAdministration(box, queue, fileVaultKey, deps.presentInThread);
  return {
    commands,
    commandBatches: new CommandBatches({ box, commands, confirmAbove, wake }),
    settings: {
      rename: (trx: Transaction, input: Parameters<typeof renameDevice>[1]) =>
        renameDevice(trx, input, queue),
    },
    devices: {
      findOwners: findIdentifierOwners,
      guardOfNew: guardOfNewDevice,
      irreplaceableSecrets,
      remove: async (trx: Transaction, { id }: { id: number }) => {
        if (!(await deleteDevice(trx, id))) throw notFound(`device ${id}`);
      },
      changedBy: changedByAdmin,
    },
    secrets: {
      seal: (secret: string, label: string) => box.seal(Buffer.from(secret, 'utf8'), label),
    },
    customAttributes: { set: setCustomAttribute },
    profileSecrets: new ProfileSecrets(box),
    passwords: { hash: (password: string) => hashPassword(password, passwordCost) },
    dep: new DepAdministration({ jobs, publicUrl, isLabOn }),
    smartGroups: new SmartGroups({ registry: resourceRegistry(), jobs }),
    enrollmentLinks: new EnrollmentLinks({ box, publicUrl }),
    scep: { ownUrl: `${publicUrl}/scep` },
    certificates: new CertificateService({
      box,
      isLab: isLabOn,
      onAuthoritiesChange,
      onPushCertificate,
      onEndingCredential,
      tlsUse,
    }),
    signingRequests: new SigningRequestService(box),
    jobs: new JobService(),
    rollouts: new Rollouts(),
    requirements: new Requirements(),
  } satisfies ResourceServices;
}
