import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { secretLabel } from '../db/devices/device-repository.js';
import { getSecret, putSecret, removeSecret } from '../db/devices/device-secrets.js';
import type { SetBootstrapTokenMessage, TokenUpdateMessage } from '../protocol/mdm/mdm-messages.js';
import { buildPlist } from '../protocol/plist/plist.js';
import { type Answer, EMPTY } from './answer.js';
import type { MdmServices } from './services.js';

/** A device that checkCaller accepted, and the fingerprint of its certificate. */
export interface EscrowOwner {
  deviceId: number;
  fingerprint: Buffer;
}

const BOOTSTRAP = 'bootstrap_token';

/** The push token as it is stored: JSON {token: hex, push_magic}, sealed under `label`. */
export function sealPushToken(box: SecretBox, label: string, message: TokenUpdateMessage): Buffer {
  const { token, pushMagic } = message;
  const json = JSON.stringify({ token: token.toString('hex'), push_magic: pushMagic });
  return box.seal(Buffer.from(json, 'utf8'), label);
}

export function sealUnlockToken(box: SecretBox, deviceId: number, token: Buffer) {
  const label = secretLabel(deviceId, 'unlock_token');
  return { sealed: box.seal(token, label), digest: box.digest(token, label) };
}

/** A message without a token, or with an empty one, deletes the stored token. */
export async function setBootstrapToken(
  { bootstrapToken }: SetBootstrapTokenMessage,
  owner: EscrowOwner,
  { db, box }: MdmServices,
): Promise<Answer> {
  const key = { ...owner, kind: BOOTSTRAP } as const;
  if (bootstrapToken === undefined) {
    await removeSecret(db, key);
    return EMPTY;
  }
  const label = secretLabel(owner.deviceId, BOOTSTRAP);
  const sealed = box.seal(bootstrapToken, label);
  await putSecret(db, { ...key, sealed, digest: box.digest(bootstrapToken, label) });
  return EMPTY;
}

/** An empty answer without a stored token: Apple's key BootstrapToken is optional. */
export async function getBootstrapToken(
  owner: EscrowOwner,
  { db, box, logger }: MdmServices,
): Promise<Answer> {
  const secret = await getSecret(db, { ...owner, kind: BOOTSTRAP });
  if (secret === undefined) return EMPTY;
  if (secret.isFormer) {
    const { deviceId } = owner;
    logger.info({ deviceId }, 'a device fetched the bootstrap token of its former enrollment');
  }
  const BootstrapToken = box.open(secret.sealed, secretLabel(owner.deviceId, BOOTSTRAP));
  return { kind: 'plist', body: buildPlist({ BootstrapToken }) };
}
