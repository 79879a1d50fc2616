import type { Knex } from 'knex';

const UP = `
alter table devices
  -- The label c of the ServerURL that the device enrolled with; null: its ServerURL has none.
  add column cell smallint check (cell between 0 and 63),
  -- When a new enrollment last took the place of a live one, and the certificate (SHA-256 in
  -- hexadecimal) of the one that it ended.
  add column enrollment_replaced_at timestamptz,
  add column replaced_fingerprint_sha256 text;
-- topic_mismatch: no push certificate here has the topic that the device enrolled with.
alter table devices drop constraint devices_push_state_check,
  add constraint devices_push_state_check
    check (push_state in ('ok', 'unregistered', 'bad_token', 'topic_mismatch'));

alter table former_enrollments add column fingerprint_sha256 text;

-- A refused Authenticate of an enrolled device (REPLACE_ENROLLED=hold) is a request too: an admin
-- approves it. One row for each device and certificate.
alter table enrollment_requests
  add column enrollment_id text,
  add column fingerprint_sha256 text,
  add column held_at timestamptz,
  add column attempts integer,
  add column last_attempt_at timestamptz,
  add column approved_at timestamptz;
create unique index enrollment_requests_held
  on enrollment_requests (lower(coalesce(udid, enrollment_id)), fingerprint_sha256)
  where held_at is not null;
`;

const DOWN = `
drop index enrollment_requests_held;
delete from enrollment_requests where held_at is not null;
alter table enrollment_requests drop column enrollment_id, drop column fingerprint_sha256,
  drop column held_at, drop column attempts, drop column last_attempt_at,
  drop column approved_at;
alter table former_enrollments drop column fingerprint_sha256;
update devices set push_state = 'ok' where push_state = 'topic_mismatch';
alter table devices drop constraint devices_push_state_check,
  add constraint devices_push_state_check
    check (push_state in ('ok', 'unregistered', 'bad_token'));
alter table devices drop column cell, drop column enrollment_replaced_at,
  drop column replaced_fingerprint_sha256;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
