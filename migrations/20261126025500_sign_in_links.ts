import type { Knex } from 'knex';

const UP = `
-- An address that signs a browser in, once, as its token.
create table sign_in_links (
  id bigint primary key generated always as identity,
  -- null: ADMIN_TOKEN of the environment.
  token_id bigint references tokens (id) on delete cascade,
  secret_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index sign_in_links_token on sign_in_links (token_id);
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop table sign_in_links');
}
