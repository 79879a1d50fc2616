import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { PoolUse } from '../db/connection/health.js';

export interface ProcessMetricsOptions {
  version: string;
  role: string;
  poolUse: () => PoolUse[];
}

/** This process: memory, event loop, garbage collection, connections. */
export function createProcessMetrics(registry: Registry, options: ProcessMetricsOptions): void {
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'muster_build_info',
    help: 'Always 1; which version runs in which role.',
    labelNames: ['version', 'role'],
    registers,
  }).set({ version: options.version, role: options.role }, 1);
  new Gauge({
    name: 'muster_database_pool_waiting',
    help:
      'Callers that wait for a connection, by pool. More than 0 all the time: the database is the ' +
      'bottleneck.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const { pool, waiting } of options.poolUse()) this.set({ pool }, waiting);
    },
  });
  new Gauge({
    name: 'muster_database_pool_connections',
    help:
      'Connections to the database by pool (device: /mdm, admin: API, list: lists of the API, ' +
      'background: jobs and pushes) and state.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { pool, used, idle } of options.poolUse()) {
        this.set({ pool, state: 'used' }, used);
        this.set({ pool, state: 'idle' }, idle);
      }
    },
  });
}
