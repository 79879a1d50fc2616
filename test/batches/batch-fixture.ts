import { OneOffProfiles } from '../../src/assignments/one-off-profiles.js';
import { ProfilePayloads } from '../../src/assignments/profile-payloads.js';
import { BatchExpansion } from '../../src/batches/batch-expansion.js';
import { BatchWorker } from '../../src/batches/batch-worker.js';
import { CommandAdministration } from '../../src/commands/command-administration.js';
import { DeviceActions } from '../../src/commands/device-actions.js';
import { CommandQueue } from '../../src/commands/queue.js';
import { FileVaultKey } from '../../src/pki/credentials/filevault-key.js';
import { ProfileRebuild } from '../../src/profiles/profile-rebuild.js';
import type { TestApp } from '../helpers/app.js';
import { capturingLogger } from '../http/log-lines.js';

/** As the app has it; it runs when a test says so. */
export function batchWorkerOf({ db, box }: Pick<TestApp, 'db' | 'box'>): BatchWorker {
  const { logger } = capturingLogger();
  const queue = new CommandQueue(box);
  queue.sharesPayloads = true;
  const commands = new CommandAdministration(box, queue, new FileVaultKey(box));
  const actions = new DeviceActions(box, queue, commands);
  const rebuild = new ProfileRebuild({ box, sign: () => undefined });
  const payloads = new ProfilePayloads({ box, logger, profiles: rebuild, sign: (file) => file });
  const profiles = new OneOffProfiles({ queue, payloads, credentialPauseMs: 200 });
  const expansion = new BatchExpansion({ box, queue, commands, actions, profiles });
  return new BatchWorker({ db, logger, expansion });
}

const IPHONE = {
  platform: 'iOS',
  os_version: '18.1',
  is_supervised: true,
  enrollment_state: 'enrolled',
  enrollment_type: 'device',
  enrollment_method: 'profile',
  is_enrolled: true,
};

/** Rows of enrolled iPhones without an identity; each has a serial number. Returns their ids. */
export async function addDevices(
  { db }: Pick<TestApp, 'db'>,
  count: number,
  facts: Record<string, unknown> = {},
): Promise<number[]> {
  const rows = Array.from({ length: count }, () => ({ ...IPHONE, ...facts }));
  const inserted = await db.knex('devices').insert(rows).returning<{ id: number }[]>('id');
  const ids = inserted.map(({ id }) => id);
  await db
    .knex('devices')
    .whereIn('id', ids)
    .whereNull('udid')
    .update({ udid: db.knex.raw('gen_random_uuid()::text') });
  if (facts.serial_number === undefined) {
    const serial_number = db.knex.raw("'SN' || id");
    await db.knex('devices').whereIn('id', ids).update({ serial_number });
  }
  return ids;
}

/** A tag of these devices. Returns its id. */
export async function tagDevices(
  { db }: Pick<TestApp, 'db'>,
  name: string,
  ids: readonly number[],
): Promise<number> {
  const [tag] = await db.knex('tags').insert({ name }).returning<{ id: number }[]>('id');
  if (tag === undefined) throw new Error('the tag was not stored');
  await db.knex.raw('insert into device_tags (tag_id, device_id) select ?, unnest(?::bigint[])', [
    tag.id,
    [...ids],
  ]);
  return tag.id;
}

interface Named {
  devices?: readonly number[];
  tags?: readonly number[];
  device_groups?: readonly number[];
  confirm?: number;
}

/** The document that creates a batch. */
export function batchDocument(
  attributes: Record<string, unknown>,
  { confirm, ...named }: Named = {},
) {
  const relationships = Object.fromEntries(
    Object.entries(named).map(([type, ids]) => [
      type,
      { data: (ids as number[]).map((id) => ({ type, id })) },
    ]),
  );
  return {
    data: { type: 'command_batches', attributes, relationships },
    ...(confirm !== undefined && { meta: { confirm } }),
  };
}
