import { AppError } from '../errors.js';
import { FailInfo } from '../protocol/scep/scep.js';

/**
 * A request that is answered by a signed FAILURE. The message is logged. The client gets `shown` if
 * set, else the message; with badMessageCheck only failInfo.
 */
export class ScepRefusal extends AppError {
  readonly failInfo: FailInfo;
  /** The failInfoText of the answer. */
  readonly shown: string | undefined;

  constructor(
    failInfo: FailInfo,
    reason: string,
    { shown = reason, ...options }: { cause?: unknown; shown?: string } = {},
  ) {
    super('bad_request', 400, reason, options);
    this.name = 'ScepRefusal';
    this.failInfo = failInfo;
    this.shown = failInfo === FailInfo.badMessageCheck ? undefined : shown;
  }
}
