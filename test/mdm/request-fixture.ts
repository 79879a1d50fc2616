import { randomBytes, randomUUID } from 'node:crypto';
import { inTransaction } from '../../src/db/connection/unit-of-work.js';
import {
  insertLink,
  type NewEnrollmentLink,
} from '../../src/db/enroll/enrollment-link-repository.js';
import {
  type EnrollmentRequest,
  insertEnrollmentRequest,
} from '../../src/db/enroll/enrollment-request-repository.js';
import { readProfileFile } from '../../src/lab/enrollment/enrollment-profile.js';
import {
  type ChallengeOptions,
  EnrollmentChallenges,
} from '../../src/pki/authority/enrollment-challenge.js';
import { askForIdentity } from '../enroll/renewal-fixture.js';
import type { TestApp } from '../helpers/app.js';
import { createTestDevice, type Fields, type TestDevice } from '../helpers/device.js';
import { send } from '../pki/revocation/revocation-fixture.js';

let serials = 0;

/** One that no other device has. */
export function newSerial(): string {
  serials += 1;
  return `SERIAL${String(serials).padStart(4, '0')}X`;
}

export const newUdid = () => randomUUID().toUpperCase();

/** The request of a device with a certificate of Apple's factory CA. */
export function signedRequest(overrides: Partial<EnrollmentRequest> = {}): EnrollmentRequest {
  const expires_at = new Date(Date.now() + 3_600_000);
  return { method: 'automated', signer: randomBytes(32), expires_at, ...overrides };
}

export function addRequest({ db }: TestApp, request: EnrollmentRequest): Promise<number> {
  return insertEnrollmentRequest(db.knex, request);
}

export function addLink(
  { db }: Pick<TestApp, 'db'>,
  link: Partial<NewEnrollmentLink> = {},
  tagIds: number[] = [],
): Promise<number> {
  const secret = { token: randomUUID(), seal: () => Buffer.from('sealed'), tagIds };
  return inTransaction(db, (trx) => insertLink(trx, { name: 'Link', ...link }, secret));
}

/** A device with the certificate that SCEP issued for a challenge of this kind. */
export async function certifiedFor(
  app: TestApp,
  options: ChallengeOptions,
  ids: Fields = { UDID: newUdid() },
): Promise<TestDevice> {
  const { scep, ...profile } = readProfileFile((await send(`${app.url}/enroll/profile`)).body);
  const challenge = new EnrollmentChallenges({ box: app.box }).issueChallenge(options);
  const device = await createTestDevice(app, ids);
  return device.with(await askForIdentity(app, { ...profile, scep: { ...scep, challenge } }));
}

/** The records of all devices with this serial number, the oldest first. */
export function recordsWith({ db }: TestApp, serial_number: string) {
  return db.knex('devices').where({ serial_number }).orderBy('id');
}
