import { readPushTopic } from '../../db/admin/settings-repository.js';
import type { Database } from '../../db/connection/database.js';
import { findAppleAccount } from '../../db/pki/certificate-uses.js';
import { listPushAccounts } from '../../db/pki/push-certificate-request-repository.js';

/** What is known of the push certificate that a request is to renew. */
export interface PushCertKnown {
  /** Of the certificate that devices enroll with, or of the last there was; none before the first. */
  topic: string | undefined;
  /** As given, or as recorded with that certificate. */
  account: string | null;
  warnings: string[];
}

/** `given` is the Apple Account that the command names. */
export async function readKnown(db: Database, given?: string): Promise<PushCertKnown> {
  const [last] = await listPushAccounts(db.knex);
  const topic = (await readPushTopic(db.knex)) ?? last?.topic;
  if (topic === undefined) return { topic, account: given ?? null, warnings: [] };
  const recorded = await findAppleAccount(db.knex, topic);
  const isOther = given !== undefined && recorded !== undefined && !isSame(given, recorded);
  return {
    topic,
    account: given ?? recorded ?? null,
    warnings: isOther ? [otherAccount(topic, recorded)] : [],
  };
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function otherAccount(topic: string, recorded: string): string {
  return (
    `Warning: the push certificate of ${topic} was made with the Apple Account ${recorded}. ` +
    'No other account can renew it; a certificate that another one makes has another topic, and ' +
    'every device would have to enroll anew.'
  );
}
