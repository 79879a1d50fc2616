import type { Knex } from 'knex';

const TABLE = `
-- Backups that were made or are under way. No backup contains this table.
create table backups (
  id bigint primary key generated always as identity,
  state text not null default 'waiting'
    check (state in ('waiting', 'running', 'finished', 'failed', 'deleted')),
  source text not null check (source in ('request', 'schedule', 'command')),
  file text not null,
  is_encrypted boolean not null,
  created_by text,
  tables_done integer not null default 0,
  tables_total integer,
  row_count bigint,
  -- While it is running those of the rows, afterwards those of the file.
  bytes bigint not null default 0,
  error text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz
);
create index backups_finished on backups (finished_at) where state in ('finished', 'deleted');
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(TABLE);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table backups');
}
