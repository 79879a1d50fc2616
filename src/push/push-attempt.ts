import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Logger } from '../logger.js';
import { type ApnsAnswer, judge } from '../protocol/apns.js';
import type { ApnsClient } from './apns/apns-client.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { ApnsUnreachableError } from './apns/apns-unreachable.js';
import type { Availability } from './availability.js';
import type { BlockedTopics } from './blocked-topics.js';
import { answered, type Claimed, type PushOutcome, postponed, resultOf } from './outcome.js';
import { openPushToken, type PushToken } from './push-token.js';
import { jittered, UNREADABLE_MS } from './schedule.js';

export interface PushAttemptDeps {
  box: SecretBox;
  clients: Pick<ApnsClients, 'forTopic' | 'refresh'>;
  logger: Logger;
  topics: BlockedTopics;
  availability: Availability;
}

/** One push about to go out. */
export interface PushAttempt {
  claimed: Claimed & { sealedPush: Buffer | null };
  client: ApnsClient;
  topic: string;
  /** The one push that a blocked topic is tried with. */
  isProbe: boolean;
}

/** Devices of a topic that wait are looked at again at different moments. */
const SPREAD_MS = 60_000;
/** A certificate that has just been replaced is no reason to wait for long. */
const AFTER_SWAP_MS = 1_000;

/** Devices of a blocked topic wait so much longer than the topic, so as not to come all at once. */
export function spread(): number {
  return Math.random() * SPREAD_MS;
}

/** Sends single pushes and tells what each answer, or its absence, means. */
export class PushAttempts {
  readonly #unreadable = new Set<string>();
  readonly #rejected = new Set<string>();
  #refreshing: Promise<void> | undefined;
  #isClosing = false;

  constructor(private readonly deps: PushAttemptDeps) {}

  /** From now on a push that does not get through is nobody's fault. */
  close(): void {
    this.#isClosing = true;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Never rejects; null: the claim is left to run out. */
  async run(attempt: PushAttempt): Promise<PushOutcome | null> {
    const { claimed, topic, client } = attempt;
    const token = this.#open(claimed);
    if (token === undefined) return postponed(claimed, jittered(UNREADABLE_MS));
    try {
      return await this.#conclude(
        attempt,
        await client.push({ token: token.token, pushMagic: token.pushMagic, topic }),
      );
    } catch (error) {
      return this.#fail(attempt, error);
    }
  }

  /**
   * Notes what an answer says of the topic's certificate. Where it is refused, returns after how many
   * milliseconds the device can be looked at again, else null.
   */
  async noteAnswer(
    { client, topic, isProbe }: Omit<PushAttempt, 'claimed'>,
    answer: ApnsAnswer,
  ): Promise<number | null> {
    const { availability, topics } = this.deps;
    availability.answered();
    const verdict = judge(answer);
    if (verdict === 'certificate') {
      const reason = answer.reason ?? `status ${answer.status}`;
      return this.refuse({ client, topic, isProbe, reason });
    }
    if (isProbe && verdict !== 'retry') await topics.accepted(topic);
    return null;
  }

  /**
   * The topic's certificate was refused: blocks the topic, unless there is another one by now. Returns
   * as `noteAnswer`.
   */
  async refuse(refusal: Omit<PushAttempt, 'claimed'> & { reason: string }): Promise<number> {
    const { clients, topics } = this.deps;
    const { client, topic, reason, isProbe } = refusal;
    if (isProbe || !topics.isKnown(topic)) {
      await this.#refresh();
      if ((await clients.forTopic(topic)) !== client) return AFTER_SWAP_MS;
    }
    return (await topics.refused({ topic, reason, isProbe })) + spread();
  }

  /** Once, for all that are refused at this moment. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.deps.clients.refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #conclude(attempt: PushAttempt, answer: ApnsAnswer): Promise<PushOutcome> {
    const { claimed } = attempt;
    const waitFor = await this.noteAnswer(attempt, answer);
    if (judge(answer) === 'rejected') this.#noteRejection(claimed.deviceId, answer);
    if (waitFor === null) return answered(claimed, answer);
    return { ...postponed(claimed, waitFor), result: resultOf(claimed, answer) };
  }

  async #fail(attempt: PushAttempt, error: unknown): Promise<PushOutcome | null> {
    const { claimed } = attempt;
    const { availability, logger } = this.deps;
    if (this.#isClosing) return postponed(claimed, 0);
    try {
      if (!(error instanceof ApnsUnreachableError)) throw error;
      if (error.kind === 'unreachable') {
        return postponed(claimed, availability.lost(error), 'unreachable');
      }
      const reason = 'certificate_refused';
      return postponed(claimed, await this.refuse({ ...attempt, reason }), reason);
    } catch (cause) {
      logger.warn({ err: cause, deviceId: claimed.deviceId }, 'a push failed; it is due again');
      return null;
    }
  }

  #open({ deviceId, sealedPush, identity }: Claimed): PushToken | undefined {
    try {
      return sealedPush === null
        ? undefined
        : openPushToken(this.deps.box, { sealedPush, identity });
    } catch (error) {
      if (!this.#unreadable.has(identity)) {
        const message = 'the stored push token of a device cannot be read; it is not pushed';
        this.deps.logger.error({ err: error, deviceId, identity }, message);
      }
      this.#unreadable.add(identity);
      return undefined;
    }
  }

  /** It would be answered like this by every device: one line for each reason. */
  #noteRejection(deviceId: number, { status, reason }: ApnsAnswer): void {
    const kind = `${status} ${reason}`;
    if (this.#rejected.has(kind)) return;
    this.#rejected.add(kind);
    this.deps.logger.error(
      { deviceId, status, reason },
      'the push service rejects a push as wrong',
    );
  }
}
