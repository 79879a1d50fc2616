import { secretIdentity } from '../db/devices/device-repository.js';
import { getSecret, putSecret, removeSecret } from '../db/devices/device-secrets.js';
import type { SetBootstrapTokenMessage } from '../protocol/mdm/mdm-messages.js';
import { buildPlist } from '../protocol/plist/plist.js';
import { type Answer, EMPTY } from './answer.js';
import type { MdmServices } from './services.js';

/** A device that was let in, and the certificate it showed. */
export interface EscrowOwner {
  deviceId: number;
  fingerprint: Buffer;
}

const KIND = 'bootstrap_token';

/** A message without a token, or with an empty one, takes the present one away. */
export async function setBootstrapToken(
  { bootstrapToken }: SetBootstrapTokenMessage,
  owner: EscrowOwner,
  { db, box }: MdmServices,
): Promise<Answer> {
  const key = { ...owner, kind: KIND } as const;
  if (bootstrapToken === undefined) {
    await removeSecret(db, key);
    return EMPTY;
  }
  const identity = secretIdentity(owner.deviceId, KIND);
  const sealed = box.seal(bootstrapToken, identity);
  await putSecret(db, { ...key, sealed, digest: box.digest(bootstrapToken, identity) });
  return EMPTY;
}

/** An empty answer where there is none: BootstrapToken is an optional key of Apple's. */
export async function getBootstrapToken(
  owner: EscrowOwner,
  { db, box, logger }: MdmServices,
): Promise<Answer> {
  const secret = await getSecret(db, { ...owner, kind: KIND });
  if (secret === undefined) return EMPTY;
  if (secret.isFormer) {
    const { deviceId } = owner;
    logger.info({ deviceId }, 'a device got the bootstrap token of its former enrollment');
  }
  const BootstrapToken = box.open(secret.sealed, secretIdentity(owner.deviceId, KIND));
  return { kind: 'plist', body: buildPlist({ BootstrapToken }) };
}
