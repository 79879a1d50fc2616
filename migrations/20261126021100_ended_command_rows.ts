import type { Knex } from 'knex';

/** In steps, each a transaction of its own: the table may hold millions, and devices go on reporting. */
export const config = { transaction: false };

const STEP = 50_000;

const COPY = `
insert into ended_commands (command_id, status)
select id, status from commands
where id > ? and id <= ? and status in ('Error', 'CommandFormatError', 'Expired', 'Cancelled')
on conflict do nothing`;

/** The commands that ended before the triggers noted them. */
export async function up(knex: Knex): Promise<void> {
  const last = await knex('commands').max<{ max: number | null }>('id').first();
  for (let after = 0; after < (last?.max ?? 0); after += STEP) {
    await knex.raw(COPY, [after, after + STEP]);
  }
}

/** The migration before drops the table. */
export function down(): Promise<void> {
  return Promise.resolve();
}
