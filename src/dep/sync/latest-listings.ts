import type { ListedDevice } from '../client/dep-api.js';

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
export function isEarlier(date: Date | null, other: Date | null): boolean {
  return date !== null && other !== null && date < other;
}
