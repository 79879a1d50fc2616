import type { Knex } from 'knex';
import type { Transaction } from '../connection/unit-of-work.js';

/** Null where it is gone. */
export async function findProfileName(knex: Knex, id: number): Promise<string | null> {
  const row = await knex('dep_profiles').where({ id }).first<{ name: string } | undefined>({
    name: 'profile_name',
  });
  return row?.name ?? null;
}

const FORGET = `
update dep_profiles set uuid = null, definition_digest = null, status = 'pending',
  status_text = :text, status_advice = null, status_at = now()
where id = :profileId and uuid = cast(:uuid as uuid)
  and coalesce(last_upload_at < now() - interval '10 minutes', true)
returning id`;

/**
 * For a definition that Apple does not know: the profile has to be defined anew. False where it was
 * changed meanwhile, or defined just now, so that Apple may need time.
 */
export async function forgetDefinition(
  trx: Transaction,
  definition: { profileId: number; uuid: string; text: string },
): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(FORGET, definition);
  return rows.length > 0;
}
