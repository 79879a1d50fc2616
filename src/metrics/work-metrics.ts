import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const JOB_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300];

/** More than Apple's push service has reasons. */
const MOST_RESULTS = 64;

export interface WorkMetrics {
  countPushes: (result: string, count: number) => void;
  observeJob: (task: string, outcome: string, seconds: number) => void;
  showPushService: (isReachable: boolean) => void;
}

/** What this process does in the background. */
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
  });
  reachable.set(1);
  const resultLabel = createResultLabel();
  return {
    countPushes: (result, count) => pushes.inc({ result: resultLabel(result) }, count),
    observeJob: (task, outcome, seconds) => jobs.observe({ task, outcome }, seconds),
    showPushService: (isReachable) => reachable.set(isReachable ? 1 : 0),
  };
}

/** A reason comes from the network: no text of any length and number becomes a label. */
function createResultLabel(): (result: string) => string {
  const seen = new Set<string>();
  return (result) => {
    if (seen.has(result)) return result;
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(result) || seen.size >= MOST_RESULTS) return 'other';
    seen.add(result);
    return result;
  };
}
