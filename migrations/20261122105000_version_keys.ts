import type { Knex } from 'knex';

/**
 * The bytes of a key order as versions do. A number is its digits behind a character for how many
 * they are; "\\x01" stands before what precedes a release, "\\x02" at the end. Text is kept, in lower
 * case. Language and settings of the database change nothing, so indexes hold everywhere.
 */
const UP = `
create function version_key(version text) returns text
language plpgsql immutable strict parallel safe as $$
declare
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
        key := key || e'\\x01' || lower(word collate "C");
      else
        key := key || lower(part collate "C");
      end if;
    end if;
    zeros := '';
    key := key || chr(48 + least(length(digits), 42)) || digits;
  end loop;
  word := lower(btrim(rest, ' ._-()') collate "C");
  if key <> '' and word = any (prerelease) then
    return key || e'\\x01' || word || e'\\x02';
  end if;
  return key || lower(rest collate "C") || e'\\x02';
end
$$;
`;

export async function up(knex: Knex): Promise<void> {
  await knex.raw(UP);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop function version_key(text)');
}
