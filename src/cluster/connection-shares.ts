import type { PoolSizes } from '../db/connection/database.js';

/** Connections of the primary, which runs the jobs. */
export const PRIMARY_CONNECTIONS: PoolSizes = { device: 2, admin: 4, list: 1, background: 6 };

/** Connections that the workers share for devices, API writes and API lists; each gets at least LEAST. */
const OF_ALL = { device: 10, admin: 6, list: 4 };
const LEAST = 2;

/** Connections of each worker. Workers and primary together have about as many as a single process. */
export function connectionsOfWorker(workers: number): PoolSizes {
  const share = (all: number) => Math.max(LEAST, Math.floor(all / workers));
  const { device, admin, list } = OF_ALL;
  return { device: share(device), admin: share(admin), list: share(list), background: LEAST };
}

/** The most connections that the processes open, with those that wait for notifications. */
export function connectionsOfWorkers(workers: number): number {
  const sum = ({ device, admin, list, background }: PoolSizes) =>
    device + admin + list + background + 1;
  return sum(PRIMARY_CONNECTIONS) + workers * sum(connectionsOfWorker(workers));
}
