import { CommandQueue } from '../../src/commands/queue.js';
import type { KeyPair } from '../../src/crypto/keys/keys.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';
import { parseCertificate } from '../../src/crypto/x509/certificate.js';
import {
  type IdentityRenewalDeps,
  IdentityRenewals,
} from '../../src/enroll/renewal/identity-renewal.js';
import { createIdentityRenewalTask } from '../../src/enroll/renewal/identity-renewal-task.js';
import { Random } from '../../src/lab/devices/random.js';
import { createSimulatedDevice } from '../../src/lab/devices/simulated-device.js';
import {
  type EnrollmentProfile,
  readProfileFile,
} from '../../src/lab/enrollment/enrollment-profile.js';
import { requestIdentity } from '../../src/lab/pki/scep-client.js';
import { HttpClient } from '../../src/lab/wire/http-client.js';
import { EnrollmentChallenges } from '../../src/pki/authority/enrollment-challenge.js';
import type { PlistDict } from '../../src/protocol/plist/plist.js';
import { PUBLIC_URL, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, deviceKeys, type TestDevice } from '../helpers/device.js';
import { capturingLogger } from '../http/log-lines.js';
import { runTask } from '../jobs/tasks/run-task.js';

/** As the app has it; its task runs when a test says so. */
export function renewalsOf(
  { db, box, authority }: TestApp,
  overrides: Partial<IdentityRenewalDeps> = {},
): IdentityRenewals {
  return new IdentityRenewals({
    db,
    box,
    queue: new CommandQueue(box),
    publicUrl: PUBLIC_URL,
    challenges: new EnrollmentChallenges({ box }),
    caCertificates: () => [authority.certificate.der],
    sign: (profile) => profile,
    ...overrides,
  });
}

/** One run of the task. Returns what it logged. */
export async function runRenewals(app: TestApp, signal?: AbortSignal) {
  const { logger, lines } = capturingLogger();
  await runTask(createIdentityRenewalTask({ renewals: renewalsOf(app), logger }), signal);
  return lines;
}

/** Reports commands as done until the one of this type is offered; undefined when none is. */
export async function fetchCommand(device: TestDevice, requestType: string) {
  let offered = commandIn(await device.idle());
  while (offered !== undefined && offered.command.RequestType !== requestType) {
    offered = commandIn(await device.report(offered.uuid));
  }
  return offered;
}

/** Enrolled, with a reported inventory, and an identity whose renewal has been due for an hour. */
export async function createDueDevice(app: TestApp, fresh?: TestDevice): Promise<TestDevice> {
  const device = await (fresh ?? (await createTestDevice(app))).enroll();
  await fetchCommand(device, 'none');
  await app.waitForReports();
  await app.db
    .knex('device_identities')
    .where({ fingerprint: device.certificate.fingerprint })
    .update({ renew_at: new Date(Date.now() - 3_600_000) });
  return device;
}

export function profileIn({ Payload }: PlistDict): EnrollmentProfile {
  if (!Buffer.isBuffer(Payload)) throw new Error('the command carries no profile');
  return readProfileFile(Payload);
}

/** The certificate that the CA of the app issues for this profile. */
export async function askForIdentity(
  { url }: TestApp,
  profile: EnrollmentProfile,
  keys?: KeyPair,
): Promise<ParsedCertificate> {
  const http = new HttpClient({ retryMs: 0, signal: new AbortController().signal });
  const device = createSimulatedDevice({ platform: 'iOS', random: new Random('renewal') });
  const scep = { ...profile.scep, url: `${url}/scep` };
  const asked = requestIdentity({ http, scep, device, keys: keys ?? (await deviceKeys()) });
  const { certificate } = await asked.finally(() => http.close());
  return parseCertificate(certificate);
}
