import type { Knex } from 'knex';

const COLUMNS = `i.id, i.device_id, p.id as profile_id, i.identifier, i.version, i.assignment_id`;
const REST = `i.reason_code, i.reason, i.payload_uuid, i.priority, i.command_id, i.attempts,
    i.next_attempt_at, i.repairs, i.changed_at, i.device_user_id`;

// Each state that can be asked for is a constant of its branch: the others are not read at all.
const UP = `
create or replace view device_item_states as
  select ${COLUMNS}, i.state, ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  where i.state <> 'pending'
  union all
  select ${COLUMNS}, 'sent', ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  join commands c on c.id = i.command_id
  where i.state = 'pending' and c.is_pending and c.sent_at is not null
  union all
  select ${COLUMNS}, 'pending', ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  left join commands c on c.id = i.command_id
  where i.state = 'pending' and (c.is_pending and c.sent_at is not null) is not true`;

const DOWN = `
create or replace view device_item_states as
  select ${COLUMNS}, i.state, ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  where i.state <> 'pending'
  union all
  select ${COLUMNS},
    case when c.is_pending and c.sent_at is not null then 'sent' else 'pending' end, ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  left join commands c on c.id = i.command_id
  where i.state = 'pending'`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
