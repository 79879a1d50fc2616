import type { Knex } from 'knex';

// PostgreSQL reads a trigger's condition from its text in each statement that sets one of the trigger's
// columns, whether or not a row meets it: 145 comparisons took 0.7 ms of every push result, and as
// much again of every TokenUpdate and DeviceInformation. A function keeps its comparisons, so here the long
// conditions stand in functions, and what devices set all day has triggers of its own.

async function columnsOf(knex: Knex, trigger: string): Promise<string[]> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `select a.attname as name from pg_trigger t
     join pg_attribute a on a.attrelid = t.tgrelid and a.attnum = any (t.tgattr)
     where t.tgname = ? and t.tgrelid = 'devices'::regclass order by a.attname`,
    [trigger],
  );
  return rows.map(({ name }) => name);
}

const rowOf = (row: string, columns: string[]) =>
  `(${columns.map((name) => `${row}.${name}`).join(', ')})`;

const PUSH_STATE = `
create trigger smart_group_push_state after update of push_state on devices for each row
  when (old.push_state is distinct from new.push_state) execute function mark_device_facts();`;

function factsTrigger(columns: string[], condition = ''): string {
  return `
create or replace trigger smart_group_facts after update of ${columns.join(', ')} on devices
  for each row ${condition} execute function mark_device_facts();`;
}

/** A value that is known for the first time is no change. A new enrollment forgets values: no change either. */
function anyChanged(columns: string[]): string {
  return columns
    .map((name) => `(old.${name} is not null and new.${name} is distinct from old.${name})`)
    .join('\n      or ');
}

/** Its first enrollment is how a device begins. */
const ENROLLMENT_CHANGED = `(old.is_enrolled is true and new.is_enrolled is not true
      or old.is_enrolled is not true and new.is_enrolled is true and new.enrollment_number > 1)`;

const ENROLLMENT_VALUES = `
    insert into device_changes (device_id, kind, change, attribute, "old", "new", cause, caused_by)
    values (new.id, 'attribute', 'changed', 'is_enrolled', (old.is_enrolled is true)::text,
      (new.is_enrolled is true)::text, change_cause(), change_caused_by());`;

function insertChanges(columns: string[]): string {
  const pairs = columns.map((name) => `('${name}', old.${name}::text, new.${name}::text)`);
  return `
  insert into device_changes (device_id, kind, change, attribute, "old", "new", cause, caused_by)
  select new.id, 'attribute', 'changed', v.attribute, v.former, v.present, of_change,
    change_caused_by()
  from (values
    ${pairs.join(',\n    ')}
  ) as v (attribute, former, present)
  where v.former is not null and v.former is distinct from v.present
    and (v.present is not null or of_change <> 'enrollment');`;
}

function lightChanges(columns: string[]): string {
  return `
create or replace function write_device_changes() returns trigger language plpgsql as $$
declare
  of_change text;
begin
  if (${anyChanged(columns)}) is not true then
    return null;
  end if;
  of_change := change_cause();${insertChanges(columns)}
  return null;
end $$;
create or replace trigger device_changes_of_attributes
  after update of ${columns.join(', ')} on devices
  for each row execute function write_device_changes();
create function write_enrollment_change() returns trigger language plpgsql as $$
begin${ENROLLMENT_VALUES}
  return null;
end $$;
create trigger device_changes_of_enrollment after update of is_enrolled on devices
  for each row when (${ENROLLMENT_CHANGED}) execute function write_enrollment_change();`;
}

function formerChanges(columns: string[]): string {
  return `
drop trigger device_changes_of_enrollment on devices;
drop function write_enrollment_change();
create or replace function write_device_changes() returns trigger language plpgsql as $$
declare
  of_change text := change_cause();
begin${insertChanges(columns)}
  if ${ENROLLMENT_CHANGED} then${ENROLLMENT_VALUES}
  end if;
  return null;
end $$;
create or replace trigger device_changes_of_attributes
  after update of ${[...columns, 'is_enrolled'].join(', ')} on devices
  for each row when (${ENROLLMENT_CHANGED}
      or ${anyChanged(columns)})
  execute function write_device_changes();`;
}

const HEALTH_FACTS = [
  ...['is_enrolled', 'enrollment_state', 'enrollment_number', 'push_state', 'topic'],
  ...['awaiting_configuration', 'enrollment_replaced_at', 'proven_serial', 'dep_profile_id'],
];
const IS_BEGUN = `(not old.is_enrolled and new.is_enrolled and new.enrollment_number = 1
      and new.push_state = 'ok' and new.sealed_push is not null and new.health = 'ok')`;

function healthTrigger(columns: string[]): string {
  return `
create or replace trigger health_facts
  after update of ${columns.join(', ')} on devices
  for each row when (${IS_BEGUN} is not true
    and (${rowOf('old', HEALTH_FACTS)} is distinct from ${rowOf('new', HEALTH_FACTS)}
      or (old.sealed_push is null) <> (new.sealed_push is null)
      or (old.failed_push_count >= 3) <> (new.failed_push_count >= 3)))
  execute function mark_health();`;
}

/** Enrollments set these, too, and then more, which `health_facts` sees. */
const HEALTH_OF_PUSHES = `
create trigger health_pushes after update of push_state, failed_push_count on devices
  for each row when (old.is_enrolled is not distinct from new.is_enrolled
    and (old.push_state is distinct from new.push_state
      or (old.failed_push_count >= 3) <> (new.failed_push_count >= 3)))
  execute function mark_health();`;

const RECONCILED = [
  ...['awaiting_configuration', 'platform', 'os_version', 'is_supervised'],
  'user_approved_enrollment',
];
const VARIABLES = ['serial_number', 'udid', 'device_name', 'asset_tag', 'managed_apple_account'];

const changes = (columns: string[]) =>
  columns.map((name) => `new.${name} is distinct from old.${name}`).join('\n      or ');

function otherTriggers({ isLimited }: { isLimited: boolean }): string {
  const of = (columns: string[]) => (isLimited ? `of ${columns.join(', ')} ` : '');
  return `
create or replace trigger devices_reconcile
  after update ${of(['is_enrolled', 'enrollment_number', ...RECONCILED])}on devices for each row
  when (new.is_enrolled is distinct from old.is_enrolled
    or new.is_enrolled and (
      new.enrollment_number <> old.enrollment_number
      or ${changes(RECONCILED)}))
  execute function mark_device();
create or replace trigger devices_variables after update ${of(VARIABLES)}on devices for each row
  when (new.is_enrolled and (
      ${changes(VARIABLES)}))
  execute function mark_device_of_variables();`;
}

export async function up(knex: Knex): Promise<void> {
  const facts = await columnsOf(knex, 'smart_group_facts');
  await knex.raw(factsTrigger(facts.filter((name) => name !== 'push_state')) + PUSH_STATE);
  const changed = await columnsOf(knex, 'device_changes_of_attributes');
  await knex.raw(lightChanges(changed.filter((name) => name !== 'is_enrolled')));
  const health = HEALTH_FACTS.filter((name) => name !== 'push_state');
  await knex.raw(healthTrigger([...health, 'sealed_push']) + HEALTH_OF_PUSHES);
  await knex.raw(otherTriggers({ isLimited: true }));
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(otherTriggers({ isLimited: false }));
  await knex.raw('drop trigger health_pushes on devices');
  await knex.raw(healthTrigger([...HEALTH_FACTS, 'sealed_push', 'failed_push_count']));
  await knex.raw(formerChanges(await columnsOf(knex, 'device_changes_of_attributes')));
  await knex.raw('drop trigger smart_group_push_state on devices');
  const facts = [...(await columnsOf(knex, 'smart_group_facts')), 'push_state'];
  const condition = `when (${rowOf('old', facts)} is distinct from ${rowOf('new', facts)})`;
  await knex.raw(factsTrigger(facts, condition));
}
