import type { DepServer, Interceptor, RequestCounts, RequestReport } from './dep-server.js';
import type { FaultRule, FaultRules } from './fault-rules.js';
import type { Portal } from './portal.js';
import type { Sessions } from './sessions.js';

/** Controls the behavior of the stand-in and reports the requests that it received. */
export interface DepControl {
  portal: Portal;
  /** Rules apply in the order in which they were added. */
  addFault(rule: FaultRule): void;
  faults(): FaultRule[];
  clearFaults(): void;
  /** All sessions are answered 401 as expired, or 403 as unknown. */
  expireSessions(how?: 401 | 403): void;
  requests(): RequestReport;
  resetRequests(): void;
  /** The interceptor sees each request before it is answered; undefined removes it. */
  intercept(interceptor: Interceptor | undefined): void;
  destroyConnections(): void;
}

export interface ControlledParts {
  server: DepServer;
  portal: Portal;
  faults: FaultRules;
  sessions: Sessions;
  counts: RequestCounts;
}

export function createControl({
  server,
  portal,
  faults,
  sessions,
  counts,
}: ControlledParts): DepControl {
  return {
    portal,
    addFault: (rule) => faults.add(rule),
    faults: () => faults.rules,
    clearFaults: () => faults.clear(),
    expireSessions: (how = 401) => (how === 403 ? sessions.forget() : sessions.expire()),
    requests: () => counts.report(),
    resetRequests: () => counts.reset(),
    intercept: (interceptor) => {
      server.interceptor = interceptor;
    },
    destroyConnections: () => server.destroyConnections(),
  };
}
