import type { StoredPlist } from '../../commands/present-command.js';
import type { Operation, RelateOperation, ToMany } from '../../jsonapi/definition/definition.js';
import { device } from '../common.js';
import { type CommandServices, requireRights } from './command-operations.js';
import { commands } from './commands.js';

type Relate = RelateOperation<CommandServices>;

const STORED = ['uuid', 'request_type', 'plist', 'payload_sha256', 'payload_values'];

/** A device's commands. Cancelled ones stay in the collection but are no longer linked. */
export const deviceCommands: ToMany<CommandServices> = {
  kind: 'toMany',
  type: 'commands',
  via: { foreignKey: 'device_id' },
  except: { column: 'status', value: 'Cancelled' },
  write: 'endpoint',
  operations: { add: assignCommands, remove: cancelCommands },
};

/** Those that are the device's own already, but no longer linked, stay as they are. */
async function assignCommands(operation: Relate): Promise<void> {
  const { trx, services, context, id, relatedIds } = operation;
  for (const asked of await storedCommands(operation)) requireRights(services, context, asked);
  await services.commands.assign(trx, { deviceId: id, commandIds: relatedIds });
}

async function cancelCommands({ trx, services, id, relatedIds }: Relate): Promise<void> {
  await services.commands.cancel(trx, { deviceId: id, commandIds: relatedIds });
}

/** What an operator could not have queued for this device, he can't move to it either. */
async function storedCommands({ trx, store, services, context, id, relatedIds }: Relate) {
  const related = await store.related(trx, {
    shape: commands,
    relation: { ...device, type: 'commands' },
    columns: [...STORED, 'device_id'],
    ids: relatedIds,
    limit: relatedIds.length,
  });
  const others = related.filter(({ row }) => row.device_id !== id);
  return others.map(({ row }) => {
    const stored = row as unknown as StoredPlist;
    const parameters = services.commands.presentParameters(stored, context.actor);
    return { requestType: stored.request_type, parameters };
  });
}

/** For the audit trail: what commands were queued, their secrets masked. */
export async function queuedCommands(
  { trx, store, services, context }: Operation<CommandServices>,
  ids: number[],
): Promise<Record<string, unknown>[]> {
  const rows = await store.findMany(trx, { shape: commands, ids, columns: STORED });
  return rows.map((row) => {
    const stored = row as unknown as StoredPlist;
    const parameters = services.commands.presentParameters(stored, context.actor);
    return { id: row.id, request_type: stored.request_type, parameters };
  });
}
