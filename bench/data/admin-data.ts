import type pg from 'pg';
import { Random } from '../../src/lab/devices/random.js';
import { commandSource } from './command-rows.js';
import { copyRows } from './copy-rows.js';
import { deviceSource } from './device-rows.js';
import { continueIds, fillTables } from './fill-tables.js';
import { applicationSource, deviceTagSource, tagSource } from './inventory-rows.js';

export interface Sizes {
  devices: number;
  applications: number;
  commands: number;
  tags: number;
}

const FULL = { devices: 100_000, tags: 1_000 };
/** As many as the relationships with 1,000 identifiers name. */
const LEAST_DEVICES = 2_000;
const APPLICATIONS_PER_DEVICE = 50;
const COMMANDS_PER_DEVICE = 10;
const TAGS_PER_DEVICE = 3;

const TABLES = ['devices', 'tags', 'device_tags', 'commands', 'installed_applications'];

const COUNTS = `
select (select count(*) from devices)::int as devices,
  (select count(*) from installed_applications)::int as applications,
  (select count(*) from commands)::int as commands, (select count(*) from tags)::int as tags`;

/** Fills an empty database; what a filled one holds stays. Returns what is in it. */
export async function fillAdminData(client: pg.ClientBase, scale: number): Promise<Sizes> {
  const before = await countRows(client);
  if (before.devices > 0) return before;
  await fillTables(client, TABLES, () => copyAll(client, scale));
  return await countRows(client);
}

async function countRows(client: pg.ClientBase): Promise<Sizes> {
  const { rows } = await client.query<Sizes>(COUNTS);
  if (rows[0] === undefined) throw new Error('nothing was counted');
  return rows[0];
}

async function copyAll(client: pg.ClientBase, scale: number): Promise<void> {
  const random = new Random('bench:api');
  const devices = Math.max(LEAST_DEVICES, Math.round(FULL.devices * scale));
  const tags = Math.max(10, Math.round(FULL.tags * scale));
  const links = { devices, tags, perDevice: TAGS_PER_DEVICE };
  await copyRows(client, deviceSource(random.fork('devices'), devices));
  await copyRows(client, tagSource(tags));
  await copyRows(client, deviceTagSource(random.fork('device_tags'), links));
  const commands = { devices, perDevice: COMMANDS_PER_DEVICE };
  await copyRows(client, commandSource(random.fork('commands'), commands));
  const applications = { devices, perDevice: APPLICATIONS_PER_DEVICE };
  await copyRows(client, applicationSource(random.fork('applications'), applications));
  for (const table of ['devices', 'tags']) await continueIds(client, table);
}
