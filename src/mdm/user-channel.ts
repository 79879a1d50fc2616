import { prepareCommand } from '../commands/payload.js';
import { checkOutUser, type UserFacts, updateUserToken } from '../db/device-path/users.js';
import { AppError } from '../errors.js';
import type {
  CheckInMessage,
  TokenUpdateMessage,
  UserAuthenticateMessage,
} from '../protocol/mdm/mdm-messages.js';
import { buildPlist } from '../protocol/plist/plist.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import { deviceKeyOf } from './authenticate.js';
import { checkCaller, ENROLLED } from './check-caller.js';
import { answerDeclarations } from './declarative-management.js';
import { sealPushToken } from './device-tokens.js';
import { answerGetToken } from './get-token.js';
import type { Identity } from './identity.js';
import type { MdmServices } from './services.js';
/**
 * Answers a check-in of a user of the device. It is stored for the user and changes neither the
 * device's token, nor its state, nor its queue.
 */
export async function answerUserCheckIn(
  message: CheckInMessage,
  { fingerprint }: Identity,
  services: MdmServices,
): Promise<Answer> {
  const deviceKey = deviceKeyOf(message);
  const caller = await services.checkIns.findCaller({ fingerprint, deviceKey });
  const deviceId = checkCaller(caller, ENROLLED);
  if (deviceId === undefined) return UNRECOGNIZED;
  const user = userFacts(message, deviceId);
  switch (message.kind) {
    case 'TokenUpdate':
      return answerTokenUpdate(message, user, services);
    case 'CheckOut':
      await checkOutUser(services.db, deviceId, user.userKey);
      return EMPTY;
    case 'UserAuthenticate':
      return answerUserAuthenticate(message, services);
    case 'GetToken':
      return answerGetToken(message, deviceId, services);
    case 'DeclarativeManagement':
      return answerDeclarations(message, deviceId, services);
    default:
      // Apple's schema of Get- and SetBootstrapToken: `userchannel: false`.
      throw new AppError('not_found', 404, `${message.kind} is not offered to users`);
  }
}

function userFacts({ ids }: CheckInMessage, deviceId: number): UserFacts {
  return {
    deviceId,
    userKey: ids.userKey ?? '',
    userId: ids.userId ?? ids.enrollmentUserId ?? null,
    shortName: ids.userShortName ?? null,
    longName: ids.userLongName ?? null,
  };
}

/**
 * A network or mobile user logs in on a Mac. An empty challenge means that no password is required;
 * the Mac sends the message again with a response to it, which is ignored.
 */
function answerUserAuthenticate(
  { body }: UserAuthenticateMessage,
  { userAuthenticate }: MdmServices,
): Answer {
  // 410: this user is not managed until the next login.
  if (userAuthenticate === 'refuse') {
    throw new AppError('forbidden', 410, 'users are not managed one by one');
  }
  if (typeof body.DigestResponse === 'string') return EMPTY;
  return { kind: 'plist', body: buildPlist({ DigestChallenge: '' }) };
}

const USER_CONFIGURED = { requestType: 'UserConfigured', parameters: {} };

async function answerTokenUpdate(
  message: TokenUpdateMessage,
  user: UserFacts,
  services: MdmServices,
): Promise<Answer> {
  const { db, box, logger, onPushDue } = services;
  const { deviceId, userKey } = user;
  const { uuid, payload } = prepareCommand(box, USER_CONFIGURED);
  const updated = await updateUserToken(db, {
    ...user,
    sealedPush: sealPushToken(box, `device_users/${deviceId}/${userKey}/push`, message),
    notOnConsole: message.notOnConsole ?? null,
    awaitingConfiguration: message.awaitingConfiguration ?? null,
    configured: { uuid, payload },
  });
  // 503, so that the device repeats the message and is looked up then.
  if (updated === null) throw new AppError('unavailable', 503, 'the enrollment changed meanwhile');
  const { dropped, isPushDue } = updated;
  if (dropped > 0) logger.warn({ deviceId, dropped }, 'a device has more users than are kept');
  if (isPushDue && onPushDue) setImmediate(onPushDue);
  return EMPTY;
}
