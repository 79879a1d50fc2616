import type { Knex } from 'knex';

/** What the command queue must know of a user of a device. */
export interface UserTarget {
  id: number;
  device_id: number;
  user_key: string;
  is_enrolled: boolean;
}

/** The user, who can't leave before the transaction ends; undefined when unknown. */
export async function findUserTarget(
  trx: Knex.Transaction,
  id: number,
): Promise<UserTarget | undefined> {
  return trx<UserTarget>('device_users')
    .where({ id })
    .forShare()
    .first('id', 'device_id', 'user_key', 'is_enrolled');
}
