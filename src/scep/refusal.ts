import { AppError } from '../errors.js';
import type { FailInfo } from '../protocol/scep.js';

/** A request that gets a signed FAILURE. The message is for the log: the wire carries failInfo. */
export class ScepRefusal extends AppError {
  readonly failInfo: FailInfo;

  constructor(failInfo: FailInfo, reason: string, options: { cause?: unknown } = {}) {
    super('bad_request', 400, reason, options);
    this.name = 'ScepRefusal';
    this.failInfo = failInfo;
  }
}
