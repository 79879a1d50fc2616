import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
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
    aggregator: 'first',
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

/** From an answer out of memory to a client's timeout. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface RequestMetrics {
  observeRequest: (surface: string, status: number | string, seconds: number) => void;
  countMessage: (type: string) => void;
}

/** Recorded while devices wait: looks up each label set once, then each record is one call. */
export function createRequestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: 'muster_http_request_duration_seconds',
    help:
      'Time to answer HTTP requests by surface (mdm and checkin are the devices) and status; ' +
      '"aborted" when the client left first. _count counts them. Watch the 99th percentile of mdm, ' +
      'and 503 and 500 of any.',
    labelNames: ['surface', 'status'],
    buckets: BUCKETS,
    registers,
  });
  const messages = new Counter({
    name: 'muster_mdm_messages_total',
    help:
      'Messages of devices by status of a report (Idle, Acknowledged, Error, …) or type of a ' +
      'check-in (Authenticate, TokenUpdate, …). A rise of Error or NotNow deserves a look at commands.',
    labelNames: ['type'],
    registers,
  });
  const duration = memo((surface: string) =>
    memo((status: number | string) => durations.labels(surface, String(status))),
  );
  const message = memo((type: string) => messages.labels(type));
  return {
    observeRequest: (surface, status, seconds) => duration(surface)(status).observe(seconds),
    countMessage: (type) => message(type).inc(),
  };
}

const JOB_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300];

/** More than Apple's push service has reasons. */
const MAX_RESULTS = 64;

export interface WorkMetrics {
  countPushes: (result: string, count: number) => void;
  observeJob: (task: string, outcome: string, seconds: number) => void;
  showPushService: (isReachable: boolean) => void;
}

/** The background work of this process. */
export function createWorkMetrics(registry: Registry): WorkMetrics {
  const registers = [registry];
  const pushes = new Counter({
    name: 'muster_pushes_total',
    help:
      'Pushes of this process by result: delivered, a reason of Apple (BadDeviceToken, ' +
      'Unregistered, …) or one of ours. Anything but delivered that keeps rising: see ' +
      '/api/v1/credentials.',
    labelNames: ['result'],
    registers,
  });
  pushes.inc({ result: 'delivered' }, 0);
  const jobs = new Histogram({
    name: 'muster_job_duration_seconds',
    help:
      'Duration of the jobs that this process ran, by task and outcome (ok, failed: runs again, ' +
      'dead: see /api/v1/jobs). _count counts them.',
    labelNames: ['task', 'outcome'],
    buckets: JOB_BUCKETS,
    registers,
  });
  const reachable = new Gauge({
    name: 'muster_push_service_reachable',
    help:
      "0: this process cannot reach Apple's push service, and what it should push waits; see " +
      '/api/v1/credentials. Always 1 with ROLE=web, which pushes only by hand.',
    registers,
    aggregator: 'min',
  });
  reachable.set(1);
  const resultLabel = createResultLabel();
  return {
    countPushes: (result, count) => pushes.inc({ result: resultLabel(result) }, count),
    observeJob: (task, outcome, seconds) => jobs.observe({ task, outcome }, seconds),
    showPushService: (isReachable) => reachable.set(isReachable ? 1 : 0),
  };
}

function memo<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}

/** A reason comes from the network: limits the length and the number of labels. */
function createResultLabel(): (result: string) => string {
  const seen = new Set<string>();
  return (result) => {
    if (seen.has(result)) return result;
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(result) || seen.size >= MAX_RESULTS) return 'other';
    seen.add(result);
    return result;
  };
}
