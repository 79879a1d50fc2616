import { readDer } from '../crypto/der-reader.js';
import { derSequence } from '../crypto/der-writer.js';
import { importPrivateKey } from '../crypto/keys.js';
import { encodePem } from '../crypto/pem.js';
import type { SecretBox } from '../crypto/secret-box.js';
import type { Database } from '../db/database.js';
import { findPushCertificate, type PushCertificateRow } from '../db/push-credentials.js';
import { privateKeyIdentity } from '../pki/master-key.js';
import type { ApnsCredentials } from './apns-connect.js';

export interface PushCertificateDeps {
  db: Database;
  box: SecretBox;
}

export type LoadPushCertificate = (topic: string) => Promise<ApnsCredentials | undefined>;

/** Certificates as stored: DER one after the other. */
function splitChain(chain: Buffer): Buffer[] {
  const members = readDer(derSequence(chain)).children();
  const certificates: Buffer[] = [];
  while (!members.done) certificates.push(members.next().raw);
  return certificates;
}

function toCredentials(row: PushCertificateRow, topic: string, box: SecretBox): ApnsCredentials {
  const chain = row.chain_der === null ? [] : splitChain(row.chain_der);
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyIdentity(row.key_fingerprint));
  return {
    topic,
    certificate: [row.der, ...chain].map((der) => encodePem('CERTIFICATE', der)).join(''),
    privateKey: importPrivateKey(pkcs8),
    fingerprint: row.fingerprint,
  };
}

/** Finds the newest usable push certificate of a topic, with its key; undefined without any. */
export function createPushCertificateLoader(deps: PushCertificateDeps): LoadPushCertificate {
  const { db, box } = deps;
  return async (topic) => {
    const row = await findPushCertificate(db.knex, topic);
    return row && toCredentials(row, topic, box);
  };
}
