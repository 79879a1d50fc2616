import type { Knex } from 'knex';

/** Built while devices and admins go on writing, which is not possible inside a transaction. */
export const config = { transaction: false };

/** Gives the same key as the way for all others, in less time: of systems, and of most applications. */
const OF_NUMBERS = String.raw`
  if version ~ '^[0-9]{1,24}(\.[0-9]{1,24}){0,3}$' then
    first := ltrim(split_part(version, '.', 1), '0');
    second := ltrim(split_part(version, '.', 2), '0');
    third := ltrim(split_part(version, '.', 3), '0');
    fourth := ltrim(split_part(version, '.', 4), '0');
    return chr(48 + length(first)) || first || case
      when fourth <> '' then '.' || chr(48 + length(second)) || second
        || '.' || chr(48 + length(third)) || third || '.' || chr(48 + length(fourth)) || fourth
      when third <> '' then '.' || chr(48 + length(second)) || second
        || '.' || chr(48 + length(third)) || third
      when second <> '' then '.' || chr(48 + length(second)) || second
      else ''
    end || e'\x02';
  end if;`;

/** As in 20261122105000_version_keys, which describes the order. */
const OF_ALL = String.raw`declare
  prerelease constant text[] := '{dev,alpha,beta,pre,preview,rc}';
  -- Apple's stages of development, as in 1.2b3. In capitals they are trains of builds: 22B82.
  stages constant text[] := '{d,a,b,fc}';
  -- More can't be a version, and an entry of an index has its limit.
  rest text := btrim(left(version, 100));
  key text := '';
  zeros text := '';
  part text;
  word text;
  digits text;
  start integer;
begin
  loop
    start := strpos(translate(rest, '123456789', '000000000'), '0');
    exit when start = 0;
    part := left(rest, start - 1);
    rest := substr(rest, start);
    digits := left(rest, length(rest) - length(ltrim(rest, '0123456789')));
    rest := substr(rest, length(digits) + 1);
    digits := ltrim(digits, '0');
    if part = '.' then
      -- Counts only when a number above zero follows: 15.0.0 is 15.
      zeros := zeros || '.0';
      continue when digits = '';
      key := key || left(zeros, -1);
    elsif part <> '' then
      word := btrim(part, ' ._-()');
      if key <> '' and (word = any (stages) or lower(word collate "C") = any (prerelease)) then
        key := key || e'\x01' || lower(word collate "C");
      else
        key := key || lower(part collate "C");
      end if;
    end if;
    zeros := '';
    key := key || chr(48 + least(length(digits), 42)) || digits;
  end loop;
  word := lower(btrim(rest, ' ._-()') collate "C");
  if key <> '' and word = any (prerelease) then
    return key || e'\x01' || word || e'\x02';
  end if;
  return key || lower(rest collate "C") || e'\x02';
end`;

const HEAD = `create or replace function version_key(version text) returns text
language plpgsql immutable strict parallel safe as $$
`;

/** The variables of the way for all are set where it begins. */
const WITH_SHORT_WAY = `${HEAD}declare
  first text;
  second text;
  third text;
  fourth text;
begin${OF_NUMBERS}
  ${OF_ALL};
end
$$`;
const FORMER = `${HEAD}${OF_ALL}
$$`;

type Index = [name: string, on: string];

const INDEXES: Index[] = [
  // With the version itself, applications of one version are counted by the index alone.
  ['installed_applications_version_values', `${versions('version')} include (version)`],
  [
    'installed_applications_short_version_values',
    `${versions('short_version')} include (short_version)`,
  ],
  // Which certificates expire next.
  ['installed_certificates_not_after', 'installed_certificates (not_after, id)'],
  ['device_changes_change', `device_changes (change, id) where change <> 'changed'`],
];

/** With their positions, as in 20261129060500_value_indexes. */
const VALUES =
  `access_rights::text left(meid,64) left(sim_mcc,64) left(sim_mnc,64) left(subscriber_mcc,64)
  left(subscriber_mnc,64) left(current_mcc,64) cellular_technology::text hardware_encryption_caps::text
  auto_lock_time::text passcode_lock_grace_period::text passcode_lock_grace_period_enforced::text
  maximum_resident_users::text quota_size::text left(eacs_preflight,64) left(firewall_logging_option,64)
  left(bootstrap_token_allowed_for_authentication,64) left(osu_catalog_url,64)
  left(osu_previous_scan_result,64) left(lower(profile_uuid),64) left(device_id,64)
  left(supplemental_os_version_extra,64)`.split(/\s+/);

/** An ordered index takes no long description, which anyone may write. */
const OF_DESCRIPTIONS: Index = [
  'devices_description',
  'devices (description text_pattern_ops, id) where description is not null',
];

function valuesOf(...further: string[]): Index {
  const entries = [...VALUES, ...further].map((value, index) => `'${index + 1}:' || ${value}`);
  return [
    'devices_values',
    `devices using gin ((array[${entries.join(', ')}])) with (gin_pending_list_limit = 512)`,
  ];
}

/** Those with the version take their place. */
const REPLACED: Index[] = [
  ['installed_applications_version_order', versions('version')],
  ['installed_applications_short_version_order', versions('short_version')],
];

function versions(column: string): string {
  return `installed_applications ((version_key(${column})) collate "C", id)`;
}

// The planner guesses what an expression without statistics finds.
const ANALYZE = 'analyze devices';

/** Each drops first what a build that was interrupted has left behind. */
export async function up(knex: Knex): Promise<void> {
  const indexes = [...INDEXES, valuesOf('left(description,64)')].flatMap(built);
  const replaced = [...REPLACED, OF_DESCRIPTIONS].map(dropped);
  await runOutsideTransaction(knex, [WITH_SHORT_WAY, ...indexes, ...replaced, ANALYZE]);
}

export async function down(knex: Knex): Promise<void> {
  const indexes = [...REPLACED, OF_DESCRIPTIONS, valuesOf()].flatMap(built);
  await runOutsideTransaction(knex, [...indexes, ...INDEXES.map(dropped), ANALYZE, FORMER]);
}

function built([name, on]: Index): string[] {
  return [dropped([name, on]), `create index concurrently ${name} on ${on}`];
}

function dropped([name]: Index): string {
  return `drop index concurrently if exists ${name}`;
}

/** On one connection, whose time limits are lifted meanwhile. */
async function runOutsideTransaction(knex: Knex, statements: string[]): Promise<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const connection: unknown = await knex.client.acquireConnection();
  // No `?` of a pattern is a parameter.
  const run = (sql: string) => knex.raw(sql.replaceAll('?', '\\?')).connection(connection);
  try {
    for (const limit of limits) await run(`set ${limit} = 0`);
    for (const statement of statements) await run(statement);
    for (const limit of limits) await run(`reset ${limit}`);
  } finally {
    await knex.client.releaseConnection(connection);
  }
}
