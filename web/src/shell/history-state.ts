import type { DevicesSearch } from '../features/devices/search';

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The list of devices from which the page of a device was opened. */
    devices?: DevicesSearch;
    /** The name of the device that has just been deleted. */
    deleted?: string;
  }
}
