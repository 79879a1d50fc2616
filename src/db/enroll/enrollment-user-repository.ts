import type { Knex } from 'knex';

/** Someone who may enroll devices with an account. */
export interface EnrollmentUserRow {
  id: number;
  account: string;
  password_hash: string;
  /** Null: the server's setting applies. */
  enrollment_mode: 'byod' | 'adde' | null;
  is_disabled: boolean;
}

/** The user with this account, ignoring case. */
export async function findEnrollmentUser(
  knex: Knex,
  account: string,
): Promise<EnrollmentUserRow | undefined> {
  return await knex('enrollment_users')
    .whereRaw('lower(account) = lower(?)', [account])
    .first<EnrollmentUserRow | undefined>(
      'id',
      'account',
      'password_hash',
      'enrollment_mode',
      'is_disabled',
    );
}

/** Whether any user could sign in with a password. */
export async function hasEnrollmentUser(knex: Knex): Promise<boolean> {
  const row = await knex('enrollment_users').where({ is_disabled: false }).first('id');
  return row !== undefined;
}

/** Stores the time of a sign-in. */
export async function noteSignIn(knex: Knex, id: number): Promise<void> {
  await knex('enrollment_users').where({ id }).update({ last_login_at: knex.fn.now() });
}
