import type pg from 'pg';
import { Random } from '../../src/lab/devices/random.js';
import { commandSource } from '../data/command-rows.js';
import { copyRows } from '../data/copy-rows.js';
import { deviceSource } from '../data/device-rows.js';
import { continueIds, fillTables } from '../data/fill-tables.js';
import { applicationSource, deviceTagSource, tagSource } from '../data/inventory-rows.js';
import { auditSource, deviceRecords, groupMemberSource, groupSource } from './fleet-rows.js';

const COMMANDS_PER_DEVICE = 10;
const APPLICATIONS_PER_DEVICE = 5;
const TAGS_PER_DEVICE = 3;
/** Number of tags, and of groups, independent of the size of the fleet. */
const TAGS = 500;
const GROUPS = 100;

/** Those whose rows grow with the fleet. */
export const LARGE_TABLES = [
  'devices',
  'device_tags',
  'device_group_devices',
  'commands',
  'ended_commands',
  'installed_applications',
  'device_identities',
  'device_inventories',
  'device_contacts',
  'device_levels',
  'certificates',
  'installed_certificates',
  'installed_profiles',
  'device_changes',
  'custom_attributes',
  'audit_events',
];

const TABLES = [...LARGE_TABLES, 'tags', 'device_groups', 'device_pushes'];

/** As the queue leaves them: a device that has commands has a push. */
const PUSHES = `
insert into device_pushes (device_id, due_at)
select distinct c.device_id, now() + interval '1 day' from commands c
join devices d on d.id = c.device_id
where c.is_pending and d.is_enrolled and d.push_state = 'ok'`;

/** What triggers note, which do not run while tables are filled. */
const INVENTORIES = `
insert into device_inventories (device_id, queued_at)
select id, coalesce(enrolled_at, now()) from devices where is_enrolled`;

const CONTACTS = `
insert into device_contacts (device_id, last_seen) select id, last_seen from devices`;

const LEVELS = `
insert into device_levels (device_id, battery_level, available_device_capacity, last_cloud_backup_date)
select id, battery_level, available_device_capacity, last_cloud_backup_date from devices
where battery_level is not null or available_device_capacity is not null or last_cloud_backup_date is not null`;

const ENDED = `
insert into ended_commands (command_id, status)
select id, status from commands where status in ('Error', 'CommandFormatError', 'Expired', 'Cancelled')`;

/** What the task finds, since the rows are made in the order of time. */
const TIME_ORDERS = `
insert into time_order_checks (table_name, checked_to, latest, most_behind, seen_to, seen_before)
select r.*, interval '0', r.last, pg_snapshot_xmax(pg_current_snapshot()) from (
  select 'commands' as table_name, max(id) as last, max(queued_at) as latest from commands
  union all select 'audit_events', max(id), max(at) from audit_events
) r`;

/** A fleet with its history in a database that has a CA and no devices. */
export async function fillFleet(client: pg.ClientBase, devices: number): Promise<void> {
  await fillTables(client, TABLES, () => copyFleet(client, devices));
}

async function copyFleet(client: pg.ClientBase, devices: number): Promise<void> {
  const random = new Random('bench:scale');
  const ca = await caFingerprint(client);
  const links = { devices, tags: TAGS, perDevice: TAGS_PER_DEVICE };
  const commands = { devices, perDevice: COMMANDS_PER_DEVICE, isSlim: true };
  const applications = { devices, perDevice: APPLICATIONS_PER_DEVICE };
  const sources = [
    deviceSource(random.fork('devices'), devices),
    tagSource(TAGS),
    groupSource(GROUPS),
    deviceTagSource(random.fork('device_tags'), links),
    groupMemberSource(random.fork('members'), { devices, groups: GROUPS }),
    commandSource(random.fork('commands'), commands),
    applicationSource(random.fork('applications'), applications),
    ...deviceRecords(random, devices, ca),
    auditSource(random.fork('audit_events'), devices),
  ];
  for (const source of sources) await copyRows(client, source);
  await client.query(INVENTORIES);
  await client.query(CONTACTS);
  await client.query(LEVELS);
  await client.query(ENDED);
  await client.query(PUSHES);
  await client.query(TIME_ORDERS);
  for (const table of ['devices', 'tags', 'device_groups']) await continueIds(client, table);
}

async function caFingerprint(client: pg.ClientBase): Promise<Buffer> {
  const text = `select fingerprint from certificates where purpose = 'mdm.cacert'`;
  const [row] = (await client.query<{ fingerprint: Buffer }>(text)).rows;
  if (row === undefined) throw new Error('the database has no CA');
  return row.fingerprint;
}
