import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { parseCertificate } from '../crypto/x509/certificate.js';
import { listAllPushCertificates } from '../db/admin/lab-repository.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import { insertCertificate } from '../db/pki/certificate-repository.js';
import { systemContext, writeAudit } from '../events/audit.js';
import { createJobQueue } from '../jobs/job-queue.js';
import { issuePushCertificate, type LabAuthority } from '../lab/pki/lab-authority.js';
import { certificateRecord } from '../pki/certificates/certificate-record.js';
import { storeSealedKey } from '../pki/certificates/stored-keys.js';
import { rearmTopics } from '../push/rearm-task.js';

/** A certificate that expires sooner is replaced, so that a lab that keeps running always has one. */
const MIN_VALIDITY_MS = 30 * 86_400_000;

/** The topic of the stored push certificate that stays valid for long enough. */
export async function findTopic(trx: Transaction): Promise<string | undefined> {
  const all = await listAllPushCertificates(trx);
  const usable = all.find(
    ({ is_usable, not_after }) => is_usable && not_after.getTime() > Date.now() + MIN_VALIDITY_MS,
  );
  return usable && parseCertificate(usable.der).userId;
}

/** Issues and stores a push certificate of the lab. Returns its topic. */
export async function storePushCertificate(
  trx: Transaction,
  box: SecretBox,
  authority: LabAuthority,
): Promise<string> {
  const former = await formerTopic(trx);
  const made = await issuePushCertificate(authority, { topic: former });
  const { certificate, privateKey, topic } = made;
  const name = certificate.commonName ?? null;
  const keyId = await storeSealedKey(trx, box, { key: privateKey, name });
  const record = certificateRecord(certificate, 'mdm.pushcert');
  const id = await insertCertificate(trx, { ...record, rsa_private_key_id: keyId });
  await auditCertificate(trx, 'certificates.create', id);
  await rearmTopics(createJobQueue(), trx, [topic]);
  return topic;
}

/** Records a change of the lab's push certificate in the audit trail. */
export async function auditCertificate(
  trx: Transaction,
  action: string,
  id: number,
): Promise<void> {
  await writeAudit(trx, {
    context: systemContext(),
    action,
    targetType: 'certificates',
    targetId: id,
    outcome: 'success',
    details: { purpose: 'mdm.pushcert', lab: true },
  });
}

/** A new certificate keeps the former topic, as a renewal at Apple does: enrolled devices use it. */
async function formerTopic(trx: Transaction): Promise<string | undefined> {
  const [newest] = await listAllPushCertificates(trx);
  return newest && parseCertificate(newest.der).userId;
}
