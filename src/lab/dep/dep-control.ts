import type { DepServer, Interceptor, RequestCounts, RequestReport } from './dep-server.js';
import type { FaultRule, FaultRules } from './fault-rules.js';
import type { Portal } from './portal.js';
import type { Sessions } from './sessions.js';

/** How the stand-in is told to behave, and what it saw. */
export interface DepControl {
  portal: Portal;
  /** Rules are used in the order they came. */
  addFault(rule: FaultRule): void;
  faults(): FaultRule[];
  clearFaults(): void;
  /** All sessions are answered 401, or 403 as those that Apple has forgotten. */
  expireSessions(how?: 401 | 403): void;
  requests(): RequestReport;
  resetRequests(): void;
  /** Sees each request of a client before it is answered; undefined takes it away. */
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
