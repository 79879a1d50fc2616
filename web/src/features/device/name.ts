import type { Device } from './queries';

/** What the page calls the device, and what is typed to confirm. */
export function nameOf(device: Device): string {
  return device.device_name || device.serial_number || `${device.id}`;
}
