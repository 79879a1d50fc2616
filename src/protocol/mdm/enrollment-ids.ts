import { omitAbsent } from '../omit-absent.js';
import type { PlistDict } from '../plist/plist.js';
import { identifierOf, invalidMessage, textOf } from './message-fields.js';

/** The one UserID of all users of Shared iPads: only their short name differs. */
const SHARED_IPAD_USER = 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF';

/** The device, and on the user channel the user, that sent a message. Compare ids without case. */
export interface EnrollmentIds {
  channel: 'device' | 'user';
  /** The UDID, or the EnrollmentID of a user enrollment, which hides the UDID. */
  deviceKey: string;
  /** On the user channel: unique among the users of the device. */
  userKey?: string;
  udid?: string;
  enrollmentId?: string;
  userId?: string;
  enrollmentUserId?: string;
  userShortName?: string;
  userLongName?: string;
}

/** Reads the ids of a device message. Throws AppError invalid_message when none is there. */
export function enrollmentIds(body: PlistDict): EnrollmentIds {
  const udid = identifierOf(body, 'UDID');
  const enrollmentId = identifierOf(body, 'EnrollmentID');
  const userId = identifierOf(body, 'UserID');
  const enrollmentUserId = identifierOf(body, 'EnrollmentUserID');
  const userShortName = textOf(body, 'UserShortName');
  const deviceKey = udid ?? enrollmentId;
  if (deviceKey === undefined) throw invalidMessage('neither a UDID nor an EnrollmentID');
  const isUser = userId !== undefined || enrollmentUserId !== undefined;
  return omitAbsent<EnrollmentIds>({
    channel: isUser ? 'user' : 'device',
    deviceKey,
    userKey: userId === undefined ? enrollmentUserId : userKey(userId, body),
    udid,
    enrollmentId,
    userId,
    enrollmentUserId,
    userShortName,
    userLongName: textOf(body, 'UserLongName'),
  });
}

function userKey(userId: string, body: PlistDict): string {
  if (userId.toUpperCase() !== SHARED_IPAD_USER) return userId;
  const shortName = identifierOf(body, 'UserShortName');
  if (shortName === undefined) throw invalidMessage('Shared iPad user without a UserShortName');
  return shortName;
}
