import { planInventory } from '../commands/inventory-plan.js';
import { prepareCommand } from '../commands/payload.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { type CallerFacts, checkOutDevice, promoteRenewal } from '../db/device-path/check-ins.js';
import type { CallerKey } from '../db/device-path/token-update.js';
import { secretIdentity } from '../db/devices/device-repository.js';
import { AppError } from '../errors.js';
import { readCell } from '../protocol/mdm/cell-label.js';
import type {
  AuthenticateMessage,
  CheckInMessage,
  CheckOutMessage,
  TokenUpdateMessage,
} from '../protocol/mdm/mdm-messages.js';
import { admit } from './admission.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import {
  authenticate,
  authenticationKey,
  type CheckInSender,
  deviceKeyOf,
} from './authenticate.js';
import { getBootstrapToken, setBootstrapToken } from './bootstrap-token.js';
import { answerDeclarations } from './declarative-management.js';
import { getToken } from './get-token.js';
import { sealPush } from './push-token.js';
import type { MdmServices } from './services.js';
import { answerUserCheckIn } from './user-channel.js';

const ENROLLING = ['authenticated', 'enrolled'];
const ENROLLED = ['enrolled'];

export async function answerCheckIn(
  message: CheckInMessage,
  sender: CheckInSender,
  services: MdmServices,
): Promise<Answer> {
  if (message.kind === 'Authenticate') return authenticate(message, sender, services);
  const { identity, url } = sender;
  if (message.ids.channel === 'user') return answerUserCheckIn(message, identity, services);
  const who = { fingerprint: identity.fingerprint, deviceKey: deviceKeyOf(message) };
  if (message.kind === 'CheckOut') return checkOut(who, services);
  const caller = await findCaller(message, who, services);
  const admission = admit(caller, message.kind === 'TokenUpdate' ? ENROLLING : ENROLLED);
  if (admission.kind === 'unrecognized') return UNRECOGNIZED;
  if (admission.kind === 'refused') throw admission.error;
  if (caller.pinState === 'renewal') await promoteRenewal(services.db, who.fingerprint);
  services.lastSeen.mark(admission.deviceId);
  return answerAdmitted(message, { who, caller, deviceId: admission.deviceId, url }, services);
}

/**
 * The TokenUpdate that follows an Authenticate finds what this process has just learnt of its device;
 * the statement that enrolls checks it all the same. Everyone else is looked up.
 */
async function findCaller(
  message: CheckInMessage,
  who: CallerKey,
  { authenticated, checkIns }: MdmServices,
): Promise<CallerFacts> {
  const key = authenticationKey(who);
  const known = message.kind === 'TokenUpdate' ? authenticated.get(key) : undefined;
  if (known === undefined) return checkIns.findCaller(who);
  authenticated.delete(key);
  const isEnrolling = { pinState: 'active', enrollmentState: 'authenticated' } as const;
  return { ...known, ...isEnrolling, isSameDevice: true };
}

interface Admitted {
  who: CallerKey;
  caller: CallerFacts;
  deviceId: number;
  url: string | undefined;
}

async function answerAdmitted(
  message: Exclude<CheckInMessage, AuthenticateMessage | CheckOutMessage>,
  admitted: Admitted,
  services: MdmServices,
): Promise<Answer> {
  const { deviceId, who } = admitted;
  const owner = { deviceId, fingerprint: who.fingerprint };
  switch (message.kind) {
    case 'TokenUpdate':
      return updateToken(message, admitted, services);
    case 'SetBootstrapToken':
      return setBootstrapToken(message, owner, services);
    case 'GetBootstrapToken':
      return getBootstrapToken(owner, services);
    case 'GetToken':
      return getToken(message, deviceId, services);
    case 'DeclarativeManagement':
      return answerDeclarations(message, deviceId, services);
    case 'UserAuthenticate':
      throw new AppError('forbidden', 410, 'users are not managed one by one');
  }
}

async function updateToken(
  message: TokenUpdateMessage,
  { who, caller, deviceId, url }: Admitted,
  services: MdmServices,
): Promise<Answer> {
  const { box, logger } = services;
  const { unlockToken } = message;
  const isFirst = caller.enrollmentState === 'authenticated';
  const planned = isFirst
    ? planInventory({ ...caller, isUserEnrollment: message.ids.udid === undefined })
    : [];
  const updated = await services.checkIns.updateToken({
    ...who,
    deviceId,
    sealedPush: sealPush(box, secretIdentity(deviceId, 'push'), message),
    topic: message.topic ?? null,
    cell: readCell(url),
    awaitingConfiguration: message.awaitingConfiguration ?? null,
    unlockToken: unlockToken === undefined ? null : sealUnlockToken(box, deviceId, unlockToken),
    inventory: planned.map(({ requestType, parameters }) =>
      prepareCommand(box, requestType, parameters),
    ),
  });
  // 503, so that the device asks again and is looked up then.
  if (updated === null) throw new AppError('unavailable', 503, 'the enrollment changed meanwhile');
  if (updated.isFirst) logger.info({ deviceId }, 'device enrolled');
  if (message.awaitingConfiguration === true) await services.onAwaitingConfiguration?.(deviceId);
  // After the answer: the device need not wait for its push.
  if (updated.isPushDue && services.onPushDue) setImmediate(services.onPushDue);
  return EMPTY;
}

function sealUnlockToken(box: SecretBox, deviceId: number, token: Buffer) {
  const identity = secretIdentity(deviceId, 'unlock_token');
  return { sealed: box.seal(token, identity), digest: box.digest(token, identity) };
}

async function checkOut(who: CallerKey, services: MdmServices): Promise<Answer> {
  const caller = await services.checkIns.findCaller(who);
  const admission = admit(caller, ENROLLING);
  if (admission.kind === 'refused') throw admission.error;
  // One that has left already is told so once more by the same 200.
  if (admission.kind === 'unrecognized') {
    return caller.pinState === 'tombstone' ? UNRECOGNIZED : EMPTY;
  }
  if (caller.pinState === 'renewal') await promoteRenewal(services.db, who.fingerprint);
  await checkOutDevice(services.db, who);
  services.logger.info({ deviceId: admission.deviceId }, 'device checked out');
  return EMPTY;
}
