import type { Knex } from 'knex';
import { type InventoryRow, insertInventory } from './inventory-repository.js';
import { findUnchanged } from './unchanged-inventory.js';

const TABLE = 'available_os_updates';

const REMOVE_OTHERS = `
delete from available_os_updates
where device_id = any(?::bigint[]) and id <> all(?::bigint[])`;

/** Makes the updates of different devices those that they list. Unchanged rows keep their ids. */
export async function replaceUpdates(
  trx: Knex.Transaction,
  lists: readonly { deviceId: number; rows: InventoryRow[] }[],
): Promise<void> {
  if (lists.length === 0) return;
  const listed = lists.flatMap(({ deviceId, rows }, list) =>
    rows.map((row) => ({ list, deviceId, row })),
  );
  const { indexes, idsOfLists } = await findUnchanged(trx, TABLE, listed);
  const devices = lists.map(({ deviceId }) => deviceId);
  await trx.raw(REMOVE_OTHERS, [devices, [...idsOfLists.values()].flat()]);
  const changed = listed.filter((_, index) => !indexes.has(index));
  const rows = changed.map(({ deviceId, row }) => ({ ...row, device_id: deviceId }));
  await insertInventory(trx, TABLE, rows);
}
