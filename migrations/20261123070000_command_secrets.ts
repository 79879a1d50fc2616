import type { Knex } from 'knex';

const KINDS = [
  'unlock_token',
  'bootstrap_token',
  'activation_lock_bypass_code',
  'fde_personal_recovery_key_cms',
  'fde_personal_recovery_key_device_key',
];

const COMMAND_KINDS = [
  'device_lock_pin',
  'erase_pin',
  'recovery_lock_password',
  'firmware_password',
];

function allow(kinds: string[]): string {
  const list = kinds.map((kind) => `'${kind}'`).join(', ');
  return `
alter table device_secrets drop constraint device_secrets_kind_check;
alter table device_secrets add constraint device_secrets_kind_check check (kind in (${list}));
`;
}

const FORMER_VIEW = `
create view device_secret_records as
select s.id, s.device_id, s.kind, s.enrollment_number, octet_length(s.sealed) = 0 as is_removal,
  octet_length(s.sealed) > 0
  and (s.enrollment_number = d.enrollment_number
    or coalesce(lower(s.proven_serial) = lower(d.proven_serial), false))
  and not exists (
    select from device_secrets n
    where n.device_id = s.device_id and n.kind = s.kind and n.id > s.id
      and (n.enrollment_number = d.enrollment_number
        or lower(n.proven_serial) = lower(d.proven_serial))
  ) as is_current,
  s.created_at
from device_secrets s join devices d on d.id = s.device_id;
`;

const UP = `
${allow([...KINDS, ...COMMAND_KINDS])}
-- The command that sets the value. A command with a secret can't go before the secret does.
alter table device_secrets add column command_id bigint references commands (id);
create index device_secrets_command on device_secrets (command_id) where command_id is not null;

-- A value that a command sets counts once the device has acknowledged the command. One whose command
-- ended without an answer after it was sent may be in effect: it stays "sent".
create or replace view device_secret_records as
select s.id, s.device_id, s.kind, s.enrollment_number, octet_length(s.sealed) = 0 as is_removal,
  octet_length(s.sealed) > 0
  and (s.command_id is null or c.status = 'Acknowledged')
  and (s.enrollment_number = d.enrollment_number
    or coalesce(lower(s.proven_serial) = lower(d.proven_serial), false))
  and not exists (
    select from device_secrets n left join commands nc on nc.id = n.command_id
    where n.device_id = s.device_id and n.kind = s.kind and n.id > s.id
      and (n.command_id is null or nc.status = 'Acknowledged')
      and (n.enrollment_number = d.enrollment_number
        or lower(n.proven_serial) = lower(d.proven_serial))
  ) as is_current,
  s.created_at,
  s.command_id,
  case
    when c.status = 'Queued' then 'queued'
    when c.status in ('Sent', 'NotNow')
      or c.status in ('Expired', 'Cancelled') and c.sent_at is not null then 'sent'
    when c.status <> 'Acknowledged' then 'failed'
    when exists (
      select from device_secrets n left join commands nc on nc.id = n.command_id
      where n.device_id = s.device_id and n.kind = s.kind and n.id > s.id
        and (n.command_id is null or nc.status = 'Acknowledged')
    ) then 'superseded'
    else 'confirmed'
  end as state
from device_secrets s
join devices d on d.id = s.device_id
left join commands c on c.id = s.command_id;
`;

const DOWN = `
drop view device_secret_records;
delete from device_secrets where command_id is not null;
alter table device_secrets drop column command_id;
${allow(KINDS)}
${FORMER_VIEW}
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
