import {
  checkOutUser,
  markUserSeen,
  type UserFacts,
  updateUserToken,
} from '../db/device-path/users.js';
import { AppError } from '../errors.js';
import type {
  CheckInMessage,
  CommandReport,
  MdmMessage,
  TokenUpdateMessage,
} from '../protocol/mdm-messages.js';
import { type Admission, admit } from './admission.js';
import { type Answer, EMPTY, UNRECOGNIZED } from './answer.js';
import type { Identity } from './identity.js';
import { sealPush } from './push-token.js';
import { recordUnknown } from './report.js';
import type { MdmServices } from './services.js';

const ENROLLED = ['enrolled'];

/**
 * Messages of a user of the device. They are kept per user and touch neither the device's token,
 * nor its state, nor its queue.
 */
async function admitUser(
  message: MdmMessage,
  identity: Identity,
  { checkIns }: MdmServices,
): Promise<Admission> {
  const deviceKey = message.ids.deviceKey.toLowerCase();
  const { fingerprint } = identity;
  return admit(await checkIns.findCaller({ fingerprint, deviceKey }), ENROLLED);
}

function userFacts({ ids }: MdmMessage, deviceId: number): UserFacts {
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
      // 410: this user is not managed until the next login.
      throw new AppError('forbidden', 410, 'users are not managed one by one');
    default:
      throw new AppError('not_found', 404, `${message.kind} is not offered to users`);
  }
}

async function updateToken(
  message: TokenUpdateMessage,
  user: UserFacts,
  { db, box }: MdmServices,
): Promise<Answer> {
  const sealedPush = sealPush(box, `device_users/${user.deviceId}/${user.userKey}/push`, message);
  const notOnConsole = message.notOnConsole ?? null;
  await updateUserToken(db, { ...user, sealedPush, notOnConsole });
  return EMPTY;
}

/** No command is addressed to a user yet, so any report but Idle is one this server did not ask. */
export async function answerUserReport(
  report: CommandReport,
  identity: Identity,
  services: MdmServices,
): Promise<Answer> {
  const admission = await admitUser(report, identity, services);
  if (admission.kind === 'unrecognized') return UNRECOGNIZED;
  if (admission.kind === 'refused') throw admission.error;
  const { deviceId } = admission;
  await markUserSeen(services.db, deviceId, report.ids.userKey ?? '');
  if (report.status !== 'Idle') await recordUnknown(report, deviceId, services);
  return EMPTY;
}
