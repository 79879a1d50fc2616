import { planInventory } from '../commands/inventory-plan.js';
import { prepareCommand } from '../commands/payload.js';
import { type CallerFacts, checkOutDevice, promoteRenewal } from '../db/device-path/check-ins.js';
import type { CallerKey } from '../db/device-path/token-update.js';
import { secretLabel } from '../db/devices/device-repository.js';
import { AppError } from '../errors.js';
import { readCell } from '../protocol/mdm/cell-label.js';
import type {
  AuthenticateMessage,
  CheckInMessage,
  CheckOutMessage,
  TokenUpdateMessage,
} from '../protocol/mdm/mdm-messages.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import { answerAuthenticate, type CheckInSender, deviceKeyOf, recentKey } from './authenticate.js';
import { checkCaller, ENROLLED, ENROLLING_OR_ENROLLED } from './check-caller.js';
import { answerDeclarations } from './declarative-management.js';
import {
  getBootstrapToken,
  sealPushToken,
  sealUnlockToken,
  setBootstrapToken,
} from './device-tokens.js';
import { answerGetToken } from './get-token.js';
import { answerReturnToService } from './return-to-service.js';
import type { MdmServices } from './services.js';
import { answerUserCheckIn } from './user-channel.js';

/** Answers a message with a MessageType, of the device or of one of its users. */
export async function answerCheckIn(
  message: CheckInMessage,
  sender: CheckInSender,
  services: MdmServices,
): Promise<Answer> {
  if (message.kind === 'Authenticate') return answerAuthenticate(message, sender, services);
  const { identity, url } = sender;
  if (message.ids.channel === 'user') return answerUserCheckIn(message, identity, services);
  const who = { fingerprint: identity.fingerprint, deviceKey: deviceKeyOf(message) };
  if (message.kind === 'CheckOut') return answerCheckOut(who, services);
  const caller = await findCaller(message, who, services);
  const isUpdate = message.kind === 'TokenUpdate';
  const deviceId = checkCaller(caller, isUpdate ? ENROLLING_OR_ENROLLED : ENROLLED);
  if (deviceId === undefined) return UNRECOGNIZED;
  if (caller.pinState === 'renewal') await promoteRenewal(services.db, who.fingerprint);
  services.lastSeen.mark(deviceId, identity.signedAt);
  return answerDevice(message, { who, caller, deviceId, url }, services);
}

/**
 * The TokenUpdate that follows an Authenticate uses what this process has just read of its device; the
 * statement that enrolls checks it again. All other callers are looked up.
 */
async function findCaller(
  message: CheckInMessage,
  who: CallerKey,
  { recentAuthenticates, checkIns }: MdmServices,
): Promise<CallerFacts> {
  const key = recentKey(who);
  const known = message.kind === 'TokenUpdate' ? recentAuthenticates.get(key) : undefined;
  if (known === undefined) return checkIns.findCaller(who);
  recentAuthenticates.delete(key);
  const isEnrolling = { pinState: 'active', enrollmentState: 'authenticated' } as const;
  return { ...known, ...isEnrolling, isSameDevice: true };
}

interface CheckedSender {
  who: CallerKey;
  caller: CallerFacts;
  deviceId: number;
  url: string | undefined;
}

async function answerDevice(
  message: Exclude<CheckInMessage, AuthenticateMessage | CheckOutMessage>,
  sender: CheckedSender,
  services: MdmServices,
): Promise<Answer> {
  const { deviceId, who } = sender;
  const owner = { deviceId, fingerprint: who.fingerprint };
  switch (message.kind) {
    case 'TokenUpdate':
      return answerTokenUpdate(message, sender, services);
    case 'SetBootstrapToken':
      return setBootstrapToken(message, owner, services);
    case 'GetBootstrapToken':
      return getBootstrapToken(owner, services);
    case 'ReturnToService':
      return answerReturnToService(owner, services);
    case 'GetToken':
      return answerGetToken(message, deviceId, services);
    case 'DeclarativeManagement':
      return answerDeclarations(message, deviceId, services);
    case 'UserAuthenticate':
      throw new AppError('forbidden', 410, 'users are not managed one by one');
  }
}

/** The first TokenUpdate enrolls the device and queues its inventory. */
async function answerTokenUpdate(
  message: TokenUpdateMessage,
  { who, caller, deviceId, url }: CheckedSender,
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
    sealedPush: sealPushToken(box, secretLabel(deviceId, 'push'), message),
    topic: message.topic ?? null,
    cell: readCell(url),
    awaitingConfiguration: message.awaitingConfiguration ?? null,
    unlockToken: unlockToken === undefined ? null : sealUnlockToken(box, deviceId, unlockToken),
    inventory: planned.map((command) => prepareCommand(box, command)),
  });
  // 503, so that the device repeats the message and is looked up then.
  if (updated === null) throw new AppError('unavailable', 503, 'the enrollment changed meanwhile');
  if (updated.isFirst) logger.info({ deviceId }, 'device enrolled');
  if (message.awaitingConfiguration === true) await services.onAwaitingConfiguration?.(deviceId);
  // After the answer: the device need not wait for its push.
  if (updated.isPushDue && services.onPushDue) setImmediate(services.onPushDue);
  return EMPTY;
}

async function answerCheckOut(who: CallerKey, services: MdmServices): Promise<Answer> {
  const caller = await services.checkIns.findCaller(who);
  const deviceId = checkCaller(caller, ENROLLING_OR_ENROLLED);
  if (deviceId === undefined) {
    // A CheckOut that is repeated gets the same 200.
    return caller.pinState === 'tombstone' ? UNRECOGNIZED : EMPTY;
  }
  if (caller.pinState === 'renewal') await promoteRenewal(services.db, who.fingerprint);
  await checkOutDevice(services.db, who);
  services.logger.info({ deviceId }, 'device checked out');
  return EMPTY;
}
