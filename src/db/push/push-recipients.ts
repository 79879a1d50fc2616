/** Whom a push wakes: a device, or one of its users. */
export type PushRecipient = 'device' | 'user';

interface OwnerTables {
  /** The table of owners; `o` in the statements. */
  owners: string;
  /** The table of pushes, and its column with the owner's id. */
  pushes: string;
  key: string;
  /** From `owners o`: its device, as `d`. */
  device: string;
  /** The commands of `o`, as `c`. */
  ownCommand: string;
  /** Which of `commands c` are an owner's of this kind, and whose. */
  isOwned: string;
  ownerOfCommand: string;
  isEnrolled: string;
  /** The identity under which the push token is sealed. */
  identity: string;
  noteApnsId: string;
}

/** Of constants only: nothing of a request ever gets into these texts. */
const TABLES: Record<PushRecipient, OwnerTables> = {
  device: {
    owners: 'devices',
    pushes: 'device_pushes',
    key: 'device_id',
    device: 'join devices d on d.id = o.id',
    ownCommand: 'c.device_id = o.id and c.device_user_id is null',
    isOwned: 'c.device_user_id is null',
    ownerOfCommand: 'c.device_id',
    isEnrolled: 'o.is_enrolled',
    identity: "'devices/' || o.id || '/push'",
    noteApnsId: `last_apns_id = case when r.is_delivered is null then o.last_apns_id
    else r.apns_id end,`,
  },
  user: {
    owners: 'device_users',
    pushes: 'user_pushes',
    key: 'device_user_id',
    device: 'join devices d on d.id = o.device_id',
    ownCommand: 'c.device_user_id = o.id',
    isOwned: 'c.device_user_id is not null',
    ownerOfCommand: 'c.device_user_id',
    isEnrolled: 'o.is_enrolled and d.is_enrolled',
    identity: "'device_users/' || o.device_id || '/' || o.user_key || '/push'",
    noteApnsId: '',
  },
};

export interface OwnedStatement {
  name: string;
  text: string;
}

/** The same statement for owners of each kind, under names that tell them apart. */
export function forOwners(
  name: string,
  text: (tables: OwnerTables) => string,
): Record<PushRecipient, OwnedStatement> {
  const of = (owner: PushRecipient) => ({ name: `${name}_${owner}`, text: text(TABLES[owner]) });
  return { device: of('device'), user: of('user') };
}
