import type { Database } from '../db/connection/database.js';
import { type ClaimedPush, describePushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { type Claimed, type PushOutcome, postponed, withoutPush } from './outcome.js';
import { type PushAttemptDeps, type PushAttempts, randomDelay } from './push-attempts.js';
import { jittered, WITHOUT_CERTIFICATE_MS } from './schedule.js';

export interface PusherDeps extends Omit<PushAttemptDeps, 'box' | 'availability'> {
  db: Database;
  recipient: PushRecipient;
  attempts: PushAttempts;
}

/** Receives the outcome of one claim; null: the claim stays until it expires. */
export type OnPushOutcome = (outcome: PushOutcome | null) => void;

const WAITING_WITHOUT_CERTIFICATE =
  'devices cannot be pushed: there is no push certificate for their topic, so their commands wait; ' +
  'add it with POST /api/v1/push_certificates';

/** Pushes claimed devices, or users, and reports one outcome for each claim. */
export class Pusher {
  readonly #deps: PusherDeps;
  /** Topics without a certificate that have been logged. */
  readonly #logged = new Set<string | null>();

  constructor(deps: PusherDeps) {
    this.#deps = deps;
  }

  /** Resolves when all are under way. When it rejects, no outcome was reported. */
  async push(claims: readonly ClaimedPush[], onOutcome: OnPushOutcome): Promise<void> {
    const byTopic = new Map<string | null, Claimed[]>();
    for (const claimed of await this.#describe(claims)) {
      const outcome = claimed && withoutPush(claimed);
      if (claimed === undefined) onOutcome(null);
      else if (outcome !== undefined) onOutcome(outcome);
      else gather(byTopic, claimed);
    }
    const topics = [...byTopic].map(([topic, members]) =>
      this.#pushTopic(topic, members, onOutcome),
    );
    await Promise.all(topics);
  }

  /** The certificates have changed: topics that still lack one are logged again. */
  forgetMissingCertificates(): void {
    this.#logged.clear();
  }

  /** A recipient that has been deleted since is undefined. */
  async #describe(claims: readonly ClaimedPush[]): Promise<(Claimed | undefined)[]> {
    const ids = claims.map(({ recipientId }) => recipientId);
    const { db, recipient } = this.#deps;
    const targets = await describePushes(db, recipient, ids);
    const byId = new Map(targets.map((target) => [target.recipientId, target]));
    return claims.map((claim) => {
      const target = byId.get(claim.recipientId);
      return target && Object.assign(target, claim);
    });
  }

  async #pushTopic(
    topic: string | null,
    members: Claimed[],
    onOutcome: OnPushOutcome,
  ): Promise<void> {
    const plan = await this.#plan(topic, members).catch((error: unknown) => {
      const message = 'the pushes of a topic could not be sent; they are due again';
      this.#deps.logger.warn({ err: error, topic }, message);
      return () => null;
    });
    for (const [index, claimed] of members.entries()) {
      const outcome = plan(claimed, index);
      if (outcome instanceof Promise) void outcome.then(onOutcome);
      else onOutcome(outcome);
    }
  }

  /** How to push each device of one topic. */
  async #plan(topic: string | null, members: Claimed[]) {
    const { attempts, clients } = this.#deps;
    const client = topic === null ? undefined : await clients.forTopic(topic);
    if (attempts.isClosing) return (claimed: Claimed) => postponed(claimed, 0);
    if (topic === null || client === undefined) return this.#withoutClient(topic);
    const mayProbe = await this.#mayProbe(topic, members);
    return (claimed: Claimed, index: number) => {
      const { blockedFor } = claimed;
      const isProbe = mayProbe && index === 0;
      const attempt = { claimed, client, topic, isProbe };
      if (blockedFor === null || isProbe) return attempts.run(attempt);
      return postponed(claimed, Math.max(0, blockedFor) + randomDelay());
    };
  }

  /** Whether this process sends the single push that tests a blocked topic. */
  async #mayProbe(topic: string, [first]: Claimed[]): Promise<boolean> {
    const blockedFor = first?.blockedFor ?? null;
    return blockedFor !== null && blockedFor <= 0 && (await this.#deps.topics.mayTry(topic));
  }

  #withoutClient(topic: string | null) {
    if (!this.#logged.has(topic)) this.#deps.logger.warn({ topic }, WAITING_WITHOUT_CERTIFICATE);
    this.#logged.add(topic);
    const reason = 'no_push_certificate';
    return (claimed: Claimed) => postponed(claimed, jittered(WITHOUT_CERTIFICATE_MS), reason);
  }
}

function gather(byTopic: Map<string | null, Claimed[]>, claimed: Claimed): void {
  const members = byTopic.get(claimed.topic);
  if (members === undefined) byTopic.set(claimed.topic, [claimed]);
  else members.push(claimed);
}
