import type { Database } from '../../db/connection/database.js';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import {
  listOpenPushRequests,
  listPushAccounts,
  type OpenRequestRow,
} from '../../db/pki/push-certificate-request-repository.js';
import {
  COUNTED_AT_MOST,
  countDevicesOfOtherTopics,
  type TopicCount,
} from '../../db/push/device-reach.js';
import { type Credential, credentialStatus } from '../../pki/credentials/credential-status.js';
import type { JudgedVendor } from '../../pki/push-certificates/push-request-vendor.js';
import { dayText } from '../table.js';
import { firstSteps, renewalSteps, uploadSteps } from './push-cert-advice.js';
import type { PushCertIo, PushCertServices } from './push-cert-services.js';

interface Facts {
  certificates: Credential[];
  accounts: Map<number, string | null>;
  devices: TopicCount[];
  requests: OpenRequestRow[];
  vendor: JudgedVendor | undefined;
}

/** Shows the push certificates, whose they are, how long they are good for, and what to do next. */
export async function pushCertStatus(services: PushCertServices, io: PushCertIo): Promise<void> {
  const facts = await readFacts(services);
  const lines = [
    ...facts.certificates.flatMap((certificate) => describe(certificate, facts)),
    ...strayTopics(facts),
    ...facts.requests.map(describeRequest),
    vendorLine(facts.vendor),
    '',
    ...nextSteps(facts),
  ];
  for (const line of lines) io.write(line);
}

async function readFacts({ db, requests }: PushCertServices): Promise<Facts> {
  const credentials = await credentialStatus(db.knex);
  const accounts = await listPushAccounts(db.knex);
  return {
    certificates: credentials.filter(({ kind }) => kind === 'push_certificate'),
    accounts: new Map(accounts.map(({ id, apple_account }) => [id, apple_account])),
    devices: await allTopics(db),
    requests: await listOpenPushRequests(db.knex),
    vendor: await inTransaction(db, (trx) => requests.vendor(trx)),
  };
}

function allTopics({ knex }: Database): Promise<TopicCount[]> {
  return countDevicesOfOtherTopics(knex, []);
}

function many(count: number): string {
  if (count > COUNTED_AT_MOST) return `more than ${COUNTED_AT_MOST} enrolled devices`;
  return count === 1 ? '1 enrolled device' : `${count} enrolled devices`;
}

function lifeOf({ status, not_before, not_after, days_left }: Credential): string {
  if (status === 'no_private_key') return 'of no use: its private key is not here';
  if (status === 'expired') return `expired on ${dayText(not_after)}`;
  if (not_before !== undefined) return `not valid before ${not_before.toISOString()}`;
  return `good until ${dayText(not_after)} (${days_left} ${days_left === 1 ? 'day' : 'days'})`;
}

function describe(certificate: Credential, { accounts, devices }: Facts): string[] {
  const { id, topic } = certificate;
  const count = Number(devices.find((one) => one.topic === topic)?.count ?? 0);
  return [
    `Push certificate ${id}: ${lifeOf(certificate)}`,
    `  topic: ${topic}, ${many(count)}`,
    `  Apple Account: ${accounts.get(id ?? 0) ?? 'not known'}`,
  ];
}

function strayTopics({ certificates, devices }: Facts): string[] {
  return devices
    .filter(({ topic }) => !certificates.some((one) => one.topic === topic))
    .map(({ topic, count }) => `No push certificate for ${topic}, ${many(Number(count))}`);
}

function describeRequest({ id, created_at, apple_account }: OpenRequestRow): string {
  const whose = apple_account === null ? '' : `, Apple Account ${apple_account}`;
  return `Request ${id} of ${dayText(created_at)} waits for its certificate${whose}`;
}

function vendorLine(vendor: JudgedVendor | undefined): string {
  if (vendor === undefined) return 'No vendor certificate: requests have to be signed elsewhere';
  const { id, certificate, fault } = vendor;
  const name = certificate.commonName ?? certificate.subject;
  const state =
    fault === undefined ? `until ${dayText(certificate.notAfter)}` : `can't sign: ${fault}`;
  return `Vendor certificate ${id} (${name}): ${state}`;
}

function nextSteps({ certificates, accounts, requests, vendor }: Facts): string[] {
  const [request] = requests;
  if (request !== undefined) {
    const isSigned = vendor !== undefined && vendor.fault === undefined;
    return uploadSteps({ id: request.id, account: request.apple_account }, isSigned);
  }
  const ending = certificates.find(({ status }) => status === 'expired' || status === 'expiring');
  if (ending !== undefined) return renewalSteps(accounts.get(ending.id ?? 0) ?? null);
  const [used] = certificates.filter(({ status }) => status === 'ok');
  if (used === undefined) return firstSteps();
  return ['Nothing to do: a push certificate is renewed once it has 30 days left.'];
}
