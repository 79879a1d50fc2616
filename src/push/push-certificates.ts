import { encodePem } from '../crypto/asn1/pem.js';
import { importPrivateKey } from '../crypto/keys/keys.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { findPushCertificate, type PushCertificateRow } from '../db/push/push-topics.js';
import { splitChain } from '../pki/certificates/certificate-chain.js';
import { privateKeyLabel } from '../pki/master-key/master-key.js';
import type { ApnsCredentials } from './apns/apns-connect.js';

export interface PushCertificateDeps {
  db: Database;
  box: SecretBox;
}

export type LoadPushCertificate = (topic: string) => Promise<ApnsCredentials | undefined>;

/** Finds the newest usable push certificate of a topic, with its key; undefined without any. */
export function createPushCertificateLoader(deps: PushCertificateDeps): LoadPushCertificate {
  const { db, box } = deps;
  return async (topic) => {
    const row = await findPushCertificate(db.knex, topic);
    return row && toCredentials(row, topic, box);
  };
}

function toCredentials(row: PushCertificateRow, topic: string, box: SecretBox): ApnsCredentials {
  const chain = splitChain(row.chain_der);
  const pkcs8 = box.open(row.sealed_pkcs8, privateKeyLabel(row.key_fingerprint));
  return {
    topic,
    certificate: [row.der, ...chain].map((der) => encodePem('CERTIFICATE', der)).join(''),
    privateKey: importPrivateKey(pkcs8),
    fingerprint: row.fingerprint,
  };
}
