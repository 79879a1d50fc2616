import type { PoolSizes } from '../db/connection/database.js';

/** Of the primary, which has the jobs. */
export const PRIMARY_CONNECTIONS: PoolSizes = { device: 2, admin: 4, list: 1, background: 6 };

/** For devices, for writes of the API and for its lists: of all workers together, if that is 2 or more for each. */
const OF_ALL = { device: 10, admin: 6, list: 4 };
const LEAST = 2;

/** The connections of each of so many workers. Together with the primary they have about those of one process alone. */
export function connectionsOfWorker(workers: number): PoolSizes {
  const share = (all: number) => Math.max(LEAST, Math.floor(all / workers));
  const { device, admin, list } = OF_ALL;
  return { device: share(device), admin: share(admin), list: share(list), background: LEAST };
}

/** The most connections that the processes open, with those that wait for notifications. */
export function mostConnections(workers: number): number {
  const sum = ({ device, admin, list, background }: PoolSizes) =>
    device + admin + list + background + 1;
  return sum(PRIMARY_CONNECTIONS) + workers * sum(connectionsOfWorker(workers));
}
