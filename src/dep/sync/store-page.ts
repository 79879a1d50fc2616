import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findSerials, lockSerials, storeListings } from '../../db/dep/dep-sync-page.js';
import { advanceCursor, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import { removeSerials } from '../../db/dep/dep-sync-removal.js';
import type { DevicePage, ListedDevice } from '../client/dep-api.js';

export interface StoredPage {
  /** Where the next page begins. */
  position: SyncPosition;
  /** Devices that the account did not have before, and that it has no longer. */
  added: number;
  removed: number;
  /** Other accounts that have a device which left this one. */
  receivingAccounts: number[];
}

/**
 * Stores what the page tells together with the cursor after it: both or none. Undefined when the sync
 * no longer stands at `from`; then nothing was stored.
 */
export async function storePage(
  trx: Transaction,
  from: SyncPosition,
  page: DevicePage,
): Promise<StoredPage | undefined> {
  const { cursor, moreToFollow, fetchedUntil, devices } = page;
  const end = { cursor, moreToFollow, fetchedUntil, devices: devices.length };
  const position = await advanceCursor(trx, from, end);
  if (position === undefined) return undefined;
  const told = latestListings(devices);
  if (told.length === 0) return { position, added: 0, removed: 0, receivingAccounts: [] };
  await lockSerials(trx);
  const serials = told.map(({ serialNumber }) => serialNumber);
  const known = await findSerials(trx, from.accountId, serials);
  const fresh = told.filter(
    ({ serialNumber, opDate }) => !isEarlier(opDate, known.get(serialNumber)?.op_date ?? null),
  );
  const isActive = (serialNumber: string) => known.get(serialNumber)?.is_active === true;
  const listings = fresh.filter(({ opType }) => opType !== 'deleted');
  const removals = fresh.filter(({ opType }) => opType === 'deleted');
  await storeListings(trx, from, { listings, known });
  const receivingAccounts = await removeSerials(trx, from.accountId, removals);
  return {
    position,
    receivingAccounts,
    added: listings.filter(({ serialNumber }) => !isActive(serialNumber)).length,
    removed: removals.filter(({ serialNumber }) => isActive(serialNumber)).length,
  };
}

/**
 * What holds of each serial number after all that a page tells: by the time of the operation (Sync
 * the List of Devices, op_date) and, where that is the same or unknown, by the place on the page.
 */
export function latestListings(devices: readonly ListedDevice[]): ListedDevice[] {
  const latest = new Map<string, ListedDevice>();
  for (const device of devices) {
    const held = latest.get(device.serialNumber);
    if (held !== undefined && isEarlier(device.opDate, held.opDate)) continue;
    latest.set(device.serialNumber, device);
  }
  return [...latest.values()];
}

/** False where either is not known. */
function isEarlier(date: Date | null, other: Date | null): boolean {
  return date !== null && other !== null && date < other;
}
