import type { Knex } from 'knex';

const UP = `
-- Payloads of commands without secrets, each stored once: the plist as it is sent, with the
-- CommandUUID 00000000-0000-0000-0000-000000000000 in place of the command's own. Stored without
-- compression: base64 hardly gets smaller, and each delivery would have to undo it.
create table command_payloads (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  body bytea not null,
  size integer not null generated always as (octet_length(body)) stored,
  created_at timestamptz not null default now()
);
alter table command_payloads alter column body set storage external;

-- A command has a payload of its own, or shares one. Without a check of the rows there are: none of
-- them shares one. The foreign key keeps a payload for as long as a command refers to it.
alter table commands
  alter column payload drop not null,
  add column payload_sha256 bytea references command_payloads (sha256),
  add constraint commands_one_payload check (num_nonnulls(payload, payload_sha256) = 1) not valid;

-- A process of a former version writes no true here: it can't send what it finds in no payload. While
-- one runs, nothing is shared.
alter table server_processes add column reads_shared_payloads boolean not null default false;

-- Functions, so that a query that reads commands.plist gets either payload. PostgreSQL replaces a
-- call of the second by its expression; the first reads command_payloads only if it is called.
create function command_payload(sha256 bytea) returns bytea
  language sql stable strict parallel safe
  as 'select p.body from command_payloads p where p.sha256 = $1';
create function plist(commands) returns bytea
  language sql stable parallel safe
  as 'select coalesce($1.payload, command_payload($1.payload_sha256))';
`;

/** What follows the CommandUUID: `</string>`, `</dict>` and `</plist>`, a line each. */
const TAIL = 27;
const UUID = 36;

const DOWN = `
alter table commands drop constraint commands_one_payload;
update commands c
set payload = overlay(p.body placing convert_to(c.uuid::text, 'UTF8')
  from octet_length(p.body) - ${TAIL + UUID} + 1 for ${UUID})
from command_payloads p where p.sha256 = c.payload_sha256;
alter table server_processes drop column reads_shared_payloads;
drop function plist(commands);
drop function command_payload(bytea);
alter table commands
  drop column payload_sha256,
  alter column payload set not null;
drop table command_payloads;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
