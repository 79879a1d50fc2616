import { Counter, Histogram, type Registry } from 'prom-client';

/** From what an in-memory answer takes to what a client gives up at. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface RequestMetrics {
  observeRequest: (surface: string, status: number | string, seconds: number) => void;
  countMessage: (type: string) => void;
}

/** What is recorded while devices wait: children are looked up once, then each record is one call. */
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
