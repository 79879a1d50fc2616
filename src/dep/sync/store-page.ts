import type { Transaction } from '../../db/connection/unit-of-work.js';
import { findSerials, lockSerials, storeListings } from '../../db/dep/dep-sync-page.js';
import { advanceCursor, type SyncPosition } from '../../db/dep/dep-sync-position.js';
import { removeSerials } from '../../db/dep/dep-sync-removal.js';
import type { DevicePage, ListedDevice } from '../client/dep-api.js';

export interface StoredPage {
  /** Where the next page begins. */
  position: SyncPosition;
  /** Numbers of devices that are new in the account, and that have left it. */
  added: number;
  removed: number;
  /** Ids of other accounts that list a device which left this one. */
  receivingAccounts: number[];
}

/**
 * Stores the devices of a page together with the cursor after it. Returns undefined, and stores
 * nothing, if the sync is no longer at `from`.
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
  const latest = latestListings(devices);
  if (latest.length === 0) return { position, added: 0, removed: 0, receivingAccounts: [] };
  await lockSerials(trx);
  const serials = latest.map(({ serialNumber }) => serialNumber);
  const known = await findSerials(trx, from.accountId, serials);
  const fresh = latest.filter(
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
 * The latest listing of each serial number: by `op_date` ("Sync the List of Devices"), and by the
 * position on the page if that is equal or unknown.
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

/** False if either is unknown. */
function isEarlier(date: Date | null, other: Date | null): boolean {
  return date !== null && other !== null && date < other;
}
