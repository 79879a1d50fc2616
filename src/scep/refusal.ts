import { AppError } from '../errors.js';
import { FailInfo } from '../protocol/scep/scep.js';

/**
 * A request that gets a signed FAILURE. The message is for the log, and goes with the answer unless
 * there is a text of its own for that, or the message itself is unsound: of what is wrong with that
 * the sender learns no more than failInfo.
 */
export class ScepRefusal extends AppError {
  readonly failInfo: FailInfo;
  /** Safe to show to whoever asked. */
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
