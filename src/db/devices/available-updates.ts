import type { Knex } from 'knex';
import { type InventoryRow, insertInventory } from './inventory-repository.js';
import { findUnchanged } from './unchanged-inventory.js';
import { STATE_COLUMNS, type UpdateList } from './update-states.js';

const TABLE = 'available_os_updates';

const REMOVE_OTHERS = `
delete from available_os_updates
where device_id = any(?::bigint[]) and id <> all(?::bigint[])
returning device_id, product_key, ${STATE_COLUMNS.join(', ')}`;

/**
 * Makes the updates of different devices those that they list. Unchanged rows keep their ids, and an update whose
 * facts have changed keeps its state.
 */
export async function replaceUpdates(
  trx: Knex.Transaction,
  lists: readonly UpdateList[],
): Promise<void> {
  if (lists.length === 0) return;
  const listed = lists.flatMap(({ deviceId, rows }, list) =>
    rows.map((row) => ({ list, deviceId, row })),
  );
  const { indexes, idsOfLists } = await findUnchanged(trx, TABLE, listed);
  const devices = lists.map(({ deviceId }) => deviceId);
  const { rows: removed } = await trx.raw<{ rows: InventoryRow[] }>(REMOVE_OTHERS, [
    devices,
    [...idsOfLists.values()].flat(),
  ]);
  const states = new Map(removed.map((state) => [keyOf(state), state]));
  const changed = listed.filter((_, index) => !indexes.has(index));
  const rows = changed.map(({ deviceId, row }) => {
    const own = { ...row, device_id: deviceId };
    return { ...states.get(keyOf(own)), ...own };
  });
  await insertInventory(trx, TABLE, rows);
}

function keyOf({ device_id, product_key }: InventoryRow): string {
  return `${device_id} ${product_key}`;
}
