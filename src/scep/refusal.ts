import type { FailInfo } from '../protocol/scep.js';

/** A request that gets a signed FAILURE. The message is for the log: the wire carries failInfo. */
export class ScepRefusal extends Error {
  readonly failInfo: FailInfo;

  constructor(failInfo: FailInfo, reason: string, options?: { cause: unknown }) {
    super(reason, options);
    this.name = 'ScepRefusal';
    this.failInfo = failInfo;
  }
}
