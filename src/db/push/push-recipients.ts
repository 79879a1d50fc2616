/** Pushes wake a device, or one of its users. */
export type PushRecipient = 'device' | 'user';

export const PUSH_RECIPIENTS: readonly PushRecipient[] = ['device', 'user'];

/** The parts in which the statements for devices and for users differ. */
export interface RecipientSql {
  /** The table of recipients; `r` in the statements. */
  recipients: string;
  /** The table of pushes, and its column with the recipient's id. */
  pushes: string;
  key: string;
  /** Joins the device of `r` as `d`. */
  joinDevice: string;
  /** Whether `commands c` is for `r`. */
  isForRecipient: string;
  /** The column of `commands c` with the id of a recipient of this kind; a user's command has a device too. */
  recipientOfCommand: string;
  isEnrolled: string;
  /** Leaves out those that surely can't be pushed, which an index alone answers; for `commands c`. */
  isReached: string;
  /** The label under which the push token is sealed. */
  sealLabel: string;
  setApnsId: string;
}

const IS_NOT_UNENROLLED = `not exists (
      select from devices n where n.id = c.device_id and n.enrollment_state = 'unenrolled')`;

/** Constants only: no part of a request gets into these texts. */
const PARTS: Record<PushRecipient, RecipientSql> = {
  device: {
    recipients: 'devices',
    pushes: 'device_pushes',
    key: 'device_id',
    joinDevice: 'join devices d on d.id = r.id',
    isForRecipient: 'c.device_id = r.id and c.device_user_id is null',
    recipientOfCommand: 'c.device_id',
    isEnrolled: 'r.is_enrolled',
    isReached: `${IS_NOT_UNENROLLED}
    and not exists (select from devices n where n.id = c.device_id and n.push_state <> 'ok')`,
    sealLabel: "'devices/' || r.id || '/push'",
    setApnsId: `last_apns_id = case when p.is_delivered is null then r.last_apns_id
    else p.apns_id end,`,
  },
  user: {
    recipients: 'device_users',
    pushes: 'user_pushes',
    key: 'device_user_id',
    joinDevice: 'join devices d on d.id = r.device_id',
    isForRecipient: 'c.device_user_id = r.id',
    recipientOfCommand: 'c.device_user_id',
    isEnrolled: 'r.is_enrolled and d.is_enrolled',
    isReached: IS_NOT_UNENROLLED,
    sealLabel: "'device_users/' || r.device_id || '/' || r.user_key || '/push'",
    setApnsId: '',
  },
};

export interface RecipientStatement {
  name: string;
  text: string;
}

/** The same statement for devices and for users, each prepared under its own name. */
export function forRecipients(
  name: string,
  text: (parts: RecipientSql) => string,
): Record<PushRecipient, RecipientStatement> {
  const statementFor = (recipient: PushRecipient) => {
    return { name: `${name}_${recipient}`, text: text(PARTS[recipient]) };
  };
  return { device: statementFor('device'), user: statementFor('user') };
}
