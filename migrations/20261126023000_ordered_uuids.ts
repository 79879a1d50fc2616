import type { Knex } from 'knex';

// UUID version 7 (RFC 9562 §5.7): 48 bits of milliseconds, then random ones. New values are neighbours in a
// unique index, so that queueing writes few of its pages however many finished commands there are.
// PostgreSQL has uuidv7() from version 18 on only.
const FUNCTION = `
create or replace function ordered_uuid() returns uuid language sql volatile parallel safe as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(FUNCTION);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop function if exists ordered_uuid()');
}
