import type { FleetSeed } from './fleet.js';
import type { Measured } from './measure.js';

/** What the benchmark tells a measuring process to do. */
export type Task =
  | { kind: 'enroll'; from: number; to: number }
  | { kind: 'idle'; to: number; seconds: number }
  | { kind: 'loop'; to: number; phase: string; perDevice: number }
  | { kind: 'floor-signature'; seconds: number }
  | { kind: 'floor-idle'; to: number; seconds: number }
  | { kind: 'floor-loop'; to: number; phase: string; perDevice: number }
  | { kind: 'floor-enroll'; from: number; to: number };

export type ToWorker =
  | {
      kind: 'start';
      seed: FleetSeed;
      port: number;
      connections: number;
      databaseUrl: string;
    }
  | { kind: 'prepare'; task: Task }
  | { kind: 'run' }
  | { kind: 'stop' };

export type FromWorker = { kind: 'ready' } | { kind: 'measured'; measured: Measured };
