import type { Knex } from 'knex';

/**
 * The commands that ended without success, by their status. A list of the failed ones starts here: an
 * index of `commands` on the status would make each delivery of a command write to all of its indexes,
 * since PostgreSQL then keeps no updated row on its page (heap-only tuples), also where the index holds
 * only final statuses.
 */
const TABLE = `
create table ended_commands (
  command_id bigint primary key,
  status text not null
);
create index ended_commands_status on ended_commands (status, command_id)`;

const IS_ENDED = "in ('Error', 'CommandFormatError', 'Expired', 'Cancelled')";

/** No foreign key: it would be checked for each deleted command, and lock each one that ends. */
const TRIGGERS = `
create function note_ended_command() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.status not ${IS_ENDED} then
    delete from ended_commands where command_id = old.id;
  else
    insert into ended_commands (command_id, status) values (new.id, new.status)
    on conflict (command_id) do update set status = excluded.status;
  end if;
  return null;
end $$;
create trigger commands_ended after update on commands for each row
  when (new.status <> old.status and (new.status ${IS_ENDED} or old.status ${IS_ENDED}))
  execute function note_ended_command();
create trigger commands_created_ended after insert on commands for each row
  when (new.status ${IS_ENDED}) execute function note_ended_command();
create trigger commands_ended_deleted after delete on commands for each row
  when (old.status ${IS_ENDED}) execute function note_ended_command()`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
  await knex.raw(TRIGGERS);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
drop trigger commands_ended on commands;
drop trigger commands_created_ended on commands;
drop trigger commands_ended_deleted on commands;
drop function note_ended_command();
drop table ended_commands`);
}
