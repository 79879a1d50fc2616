import type { Knex } from 'knex';

const UP = `
-- Refused: the device acknowledged the command, and said that it did not take the value.
alter table device_secrets add column is_refused boolean not null default false;
-- Unknown: the device has a value that the server was not given.
alter table device_secrets add column is_known boolean not null default true;

-- Values that are or were in effect, and since when: a command's once the device has acknowledged it,
-- in the order of the acknowledgements. Only the answer says whether a firmware password was taken.
create view effective_device_secrets as
select s.id, s.device_id, s.kind, s.enrollment_number, s.proven_serial, s.sealed, s.digest,
  s.is_known, coalesce(c.acknowledged_at, s.created_at) as effective_at
from device_secrets s left join commands c on c.id = s.command_id
where not s.is_refused and (s.command_id is null
  or c.status = 'Acknowledged' and not (s.kind = 'firmware_password' and c.needs_handling));

create or replace view device_secret_records as
select s.id, s.device_id, s.kind, s.enrollment_number,
  octet_length(s.sealed) = 0 and s.is_known as is_removal,
  octet_length(s.sealed) > 0 and e.id is not null
  and (s.enrollment_number = d.enrollment_number
    or coalesce(lower(s.proven_serial) = lower(d.proven_serial), false))
  and not exists (
    select from effective_device_secrets n
    where n.device_id = s.device_id and n.kind = s.kind
      and (n.effective_at, n.id) > (e.effective_at, e.id)
      and (n.enrollment_number = d.enrollment_number
        or lower(n.proven_serial) = lower(d.proven_serial))
  ) as is_current,
  s.created_at,
  s.command_id,
  case
    when s.is_refused then 'failed'
    when c.status = 'Queued' then 'queued'
    when c.status in ('Sent', 'NotNow')
      or c.status in ('Expired', 'Cancelled') and c.sent_at is not null then 'sent'
    when c.status <> 'Acknowledged' then 'failed'
    when e.id is null then 'sent'
    when exists (
      select from effective_device_secrets n
      where n.device_id = s.device_id and n.kind = s.kind
        and (n.effective_at, n.id) > (e.effective_at, e.id)
    ) then 'superseded'
    else 'confirmed'
  end as state,
  s.is_known
from device_secrets s
join devices d on d.id = s.device_id
left join commands c on c.id = s.command_id
left join effective_device_secrets e on e.id = s.id;
`;

const DOWN = `
drop view device_secret_records;
drop view effective_device_secrets;
alter table device_secrets drop column is_refused;
alter table device_secrets drop column is_known;

create view device_secret_records as
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

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
