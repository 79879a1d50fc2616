import { z } from 'zod';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Logger } from '../logger.js';
import { type ApnsAnswer, judge } from '../protocol/apns.js';
import type { ApnsClient } from './apns/apns-client.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { ApnsUnreachableError } from './apns/apns-failures.js';
import type { Availability } from './availability.js';
import type { BlockedTopics } from './blocked-topics.js';
import { answered, type Claimed, type PushOutcome, postponed, resultOf } from './outcome.js';
import { jittered, UNREADABLE_MS } from './schedule.js';

export interface PushAttemptDeps {
  box: SecretBox;
  clients: Pick<ApnsClients, 'forTopic' | 'refresh'>;
  logger: Logger;
  topics: BlockedTopics;
  availability: Availability;
}

/** One push about to be sent. */
export interface PushAttempt {
  claimed: Claimed & { sealedPush: Buffer | null };
  client: ApnsClient;
  topic: string;
  /** It is the single push that tests a blocked topic. */
  isProbe: boolean;
}

const SPREAD_MS = 60_000;
/** The wait for a device whose push was refused with a certificate that has been replaced since. */
const AFTER_SWAP_MS = 1_000;

/** Devices of a blocked topic wait so much longer than the topic, so that they don't come at once. */
export function randomDelay(): number {
  return Math.random() * SPREAD_MS;
}

/** Sends single pushes and decides what each answer, or its absence, means. */
export class PushAttempts {
  readonly #unreadable = new Set<string>();
  readonly #rejected = new Set<string>();
  #refreshing: Promise<void> | undefined;
  #isClosing = false;

  constructor(private readonly deps: PushAttemptDeps) {}

  /** From now on a push that fails is due again at once, for another process. */
  close(): void {
    this.#isClosing = true;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Never rejects; null: the claim stays until it expires. */
  async run(attempt: PushAttempt): Promise<PushOutcome | null> {
    const { claimed, topic, client } = attempt;
    const token = this.#open(claimed);
    if (token === undefined) return postponed(claimed, jittered(UNREADABLE_MS));
    try {
      return await this.#outcomeOf(
        attempt,
        await client.push({ token: token.token, pushMagic: token.pushMagic, topic }),
      );
    } catch (error) {
      return this.#fail(attempt, error);
    }
  }

  /**
   * Records whether an answer accepts the topic's certificate. If it is refused, returns after how many
   * milliseconds the device can be tried again, else null.
   */
  async recordAnswer(
    { client, topic, isProbe }: Omit<PushAttempt, 'claimed'>,
    answer: ApnsAnswer,
  ): Promise<number | null> {
    const { availability, topics } = this.deps;
    availability.recover();
    const verdict = judge(answer);
    if (verdict === 'certificate') {
      const reason = answer.reason ?? `status ${answer.status}`;
      return this.refuse({ client, topic, isProbe, reason });
    }
    if (isProbe && verdict !== 'retry') await topics.accept(topic);
    return null;
  }

  /**
   * The topic's certificate was refused: blocks the topic, unless it has another one by now. Returns
   * after how many milliseconds the device can be tried again.
   */
  async refuse(refusal: Omit<PushAttempt, 'claimed'> & { reason: string }): Promise<number> {
    const { clients, topics } = this.deps;
    const { client, topic, reason, isProbe } = refusal;
    if (isProbe || !topics.isKnown(topic)) {
      await this.#refresh();
      if ((await clients.forTopic(topic)) !== client) return AFTER_SWAP_MS;
    }
    return (await topics.refuse({ topic, reason, isProbe })) + randomDelay();
  }

  /** One refresh for all pushes that are refused at the same time. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.deps.clients.refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #outcomeOf(attempt: PushAttempt, answer: ApnsAnswer): Promise<PushOutcome> {
    const { claimed } = attempt;
    const waitFor = await this.recordAnswer(attempt, answer);
    if (judge(answer) === 'rejected') this.#logRejection(claimed.deviceId, answer);
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
        return postponed(claimed, availability.fail(error), 'unreachable');
      }
      const reason = 'certificate_refused';
      return postponed(claimed, await this.refuse({ ...attempt, reason }), reason);
    } catch (cause) {
      logger.warn({ err: cause, deviceId: claimed.deviceId }, 'a push failed; it is due again');
      return null;
    }
  }

  #open({ deviceId, sealedPush, sealLabel }: Claimed): PushToken | undefined {
    try {
      return sealedPush === null
        ? undefined
        : openPushToken(this.deps.box, { sealedPush, sealLabel });
    } catch (error) {
      if (!this.#unreadable.has(sealLabel)) {
        const message = 'the stored push token of a device cannot be read; it is not pushed';
        this.deps.logger.error({ err: error, deviceId, sealLabel }, message);
      }
      this.#unreadable.add(sealLabel);
      return undefined;
    }
  }

  /** Every push would be rejected for the same reason, so each reason is logged once. */
  #logRejection(deviceId: number, { status, reason }: ApnsAnswer): void {
    const kind = `${status} ${reason}`;
    if (this.#rejected.has(kind)) return;
    this.#rejected.add(kind);
    this.deps.logger.error(
      { deviceId, status, reason },
      'the push service rejects a push as wrong',
    );
  }
}

/** The address of a device's, or a user's, pushes: both parts are secrets. */
export interface PushToken {
  /** Hexadecimal. */
  token: string;
  pushMagic: string;
}

const STORED = z.object({ token: z.string().regex(/^([0-9a-f]{2})+$/i), push_magic: z.string() });

/** Opens the token that TokenUpdate stored; throws when it can't be opened or is malformed. */
export function openPushToken(
  box: SecretBox,
  { sealedPush, sealLabel }: { sealedPush: Buffer; sealLabel: string },
): PushToken {
  const plain = box.open(sealedPush, sealLabel).toString('utf8');
  const { token, push_magic: pushMagic } = STORED.parse(JSON.parse(plain));
  return { token, pushMagic };
}
