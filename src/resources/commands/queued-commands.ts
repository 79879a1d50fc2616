import type { Operation } from '../../jsonapi/definition/definition.js';
import type { ResourceServices } from '../services.js';
import { commands } from './commands.js';

/** For the audit trail: what commands were queued, their secrets masked. */
export async function queuedCommands(
  { trx, store, services, context }: Operation<ResourceServices>,
  ids: number[],
): Promise<Record<string, unknown>[]> {
  const columns = ['uuid', 'request_type', 'payload'];
  const rows = await store.findMany(trx, { shape: commands, ids, columns });
  return rows.map((row) => {
    const stored = row as unknown as { uuid: string; request_type: string; payload: Buffer };
    const parameters = services.commands.presentParameters(stored, context.actor);
    return { id: row.id, request_type: stored.request_type, parameters };
  });
}
