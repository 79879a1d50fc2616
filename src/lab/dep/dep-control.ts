import type { Interceptor } from './dep-server.js';
import type { FaultRule } from './fault-rules.js';
import type { Portal } from './portal.js';
import type { RequestReport } from './request-counts.js';

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
