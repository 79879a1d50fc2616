import type { Knex } from 'knex';

const COLUMNS = `i.id, i.device_id, p.id as profile_id, i.identifier, i.version, i.assignment_id`;
const REST = `i.reason_code, i.reason, i.payload_uuid, i.priority, i.command_id, i.attempts,
    i.next_attempt_at, i.repairs, i.changed_at, i.device_user_id`;
/** Of the command of `i`; null without one. */
const IS_SENT = `(
    select c.is_pending and c.sent_at is not null from commands c where c.id = i.command_id)`;

const VIEWS = [
  // device_item_states of every hundredth page of the table, the same pages each time.
  `create view device_item_sample as
  select ${COLUMNS}, case when i.state = 'pending' and ${IS_SENT} then 'sent' else i.state end as state,
    ${REST}
  from device_items i tablesample system (1) repeatable (1)
  left join profiles p on p.id = i.profile_id`,
  // Parts of device_item_states, of which a page is read in the order of an index.
  `create view settled_device_items as
  select ${COLUMNS}, i.state, ${REST}
  from device_items i left join profiles p on p.id = i.profile_id where i.state <> 'pending'`,
  `create view unsent_device_items as
  select ${COLUMNS}, i.state, ${REST}
  from device_items i left join profiles p on p.id = i.profile_id
  where i.state = 'pending' and ${IS_SENT} is not true`,
];

export async function up(knex: Knex): Promise<void> {
  for (const view of VIEWS) await knex.raw(view);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop view device_item_sample, settled_device_items, unsent_device_items');
}
