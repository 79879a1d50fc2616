import type { Knex } from 'knex';

const UP = `
-- Items that have to be verified on a device before the item of the assignment is installed there.
create table assignment_requirements (
  assignment_id bigint not null references assignments on delete cascade,
  profile_id bigint not null references profiles on delete cascade,
  primary key (assignment_id, profile_id)
);
create index assignment_requirements_profile on assignment_requirements (profile_id, assignment_id);

create function mark_requirement() returns trigger language plpgsql as $$
begin
  perform mark_assigned(a.profile_id, a.device_id)
  from assignments a where a.id = coalesce(new.assignment_id, old.assignment_id);
  return null;
end $$;
create trigger assignment_requirements_changed after insert or delete on assignment_requirements
  for each row execute function mark_requirement();
`;

const DOWN = `
drop table assignment_requirements;
drop function mark_requirement;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
