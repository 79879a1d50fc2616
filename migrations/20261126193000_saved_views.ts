import type { Knex } from 'knex';

const UP = `
create table saved_views (
  id bigint generated always as identity primary key,
  name text not null,
  path text not null,
  created_by text not null default '',
  created_at timestamptz not null default now()
);
create unique index saved_views_name_unique on saved_views (lower(name));
`;

const DOWN = `
drop table saved_views;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(DOWN);
}
