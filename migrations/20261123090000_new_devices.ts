import type { Knex } from 'knex';

// Volatile, so that each statement of it has a snapshot of its own: that of the caller is older than the
// locks, and would miss a device whose transaction ended while they were waited for. The locks are those
// of IDENTIFIER_LOCKS ("devi" in ASCII), in the order of their keys.
const UP = `
create function lock_new_device(new_udid text, new_enrollment_id text, new_serial_number text)
returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(1684371049, key)
  from (
    select distinct hashtext(lower(value)) as key
    from unnest(array[new_udid, new_enrollment_id, new_serial_number]) as value
    where value is not null order by 1
  ) keys;
  return not exists (select from devices where lower(udid) = lower(new_udid))
    and not exists (select from devices where lower(enrollment_id) = lower(new_enrollment_id))
    and not exists (
      select from devices where serial_number in
        (new_serial_number, upper(new_serial_number), lower(new_serial_number))
    );
end $$;
`;

const DOWN = `
drop function lock_new_device(text, text, text);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
