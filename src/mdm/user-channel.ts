import { prepareCommand } from '../commands/payload.js';
import { checkOutUser, type UserFacts, updateUserToken } from '../db/device-path/users.js';
import { AppError } from '../errors.js';
import type {
  CheckInMessage,
  TokenUpdateMessage,
  UserAuthenticateMessage,
} from '../protocol/mdm/mdm-messages.js';
import { buildPlist } from '../protocol/plist/plist.js';
import { type Admission, admit } from './admission.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import { answerDeclarations } from './declarative-management.js';
import type { DeviceMessage } from './device-message.js';
import { getToken } from './get-token.js';
import type { Identity } from './identity.js';
import { sealPush } from './push-token.js';
import type { MdmServices } from './services.js';

const ENROLLED = ['enrolled'];

/**
 * Messages of a user of the device. They are kept per user and touch neither the device's token,
 * nor its state, nor its queue.
 */
async function admitUser(
  message: DeviceMessage,
  identity: Identity,
  { checkIns }: MdmServices,
): Promise<Admission> {
  const deviceKey = message.ids.deviceKey.toLowerCase();
  const { fingerprint } = identity;
  return admit(await checkIns.findCaller({ fingerprint, deviceKey }), ENROLLED);
}

function userFacts({ ids }: DeviceMessage, deviceId: number): UserFacts {
  return {
    deviceId,
    userKey: ids.userKey ?? '',
    userId: ids.userId ?? ids.enrollmentUserId ?? null,
    shortName: ids.userShortName ?? null,
    longName: ids.userLongName ?? null,
  };
}

export async function answerUserCheckIn(
  message: CheckInMessage,
  identity: Identity,
  services: MdmServices,
): Promise<Answer> {
  const admission = await admitUser(message, identity, services);
  if (admission.kind === 'unrecognized') return UNRECOGNIZED;
  if (admission.kind === 'refused') throw admission.error;
  const user = userFacts(message, admission.deviceId);
  switch (message.kind) {
    case 'TokenUpdate':
      return updateToken(message, user, services);
    case 'CheckOut':
      await checkOutUser(services.db, user.deviceId, user.userKey);
      return EMPTY;
    case 'UserAuthenticate':
      return authenticateUser(message, services);
    case 'GetToken':
      return getToken(message, user.deviceId, services);
    case 'DeclarativeManagement':
      return answerDeclarations(message, user.deviceId, services);
    default:
      // Apple's schema of Get- and SetBootstrapToken: `userchannel: false`.
      throw new AppError('not_found', 404, `${message.kind} is not offered to users`);
  }
}

/**
 * A network or mobile user logs in on a Mac. With an empty challenge the user is managed without a
 * password of ours; the message comes again with a response to it, which says nothing.
 */
function authenticateUser(
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

async function updateToken(
  message: TokenUpdateMessage,
  user: UserFacts,
  services: MdmServices,
): Promise<Answer> {
  const { db, box, logger, onPushDue } = services;
  const { deviceId, userKey } = user;
  const { uuid, payload } = prepareCommand(box, 'UserConfigured', {});
  const updated = await updateUserToken(db, {
    ...user,
    sealedPush: sealPush(box, `device_users/${deviceId}/${userKey}/push`, message),
    notOnConsole: message.notOnConsole ?? null,
    awaitingConfiguration: message.awaitingConfiguration ?? null,
    configured: { uuid, payload },
  });
  // 503, so that the device asks again and is looked up then.
  if (updated === null) throw new AppError('unavailable', 503, 'the enrollment changed meanwhile');
  const { dropped, isPushDue } = updated;
  if (dropped > 0) logger.warn({ deviceId, dropped }, 'a device has more users than are kept');
  if (isPushDue && onPushDue) setImmediate(onPushDue);
  return EMPTY;
}
