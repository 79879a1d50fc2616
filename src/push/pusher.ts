import type { Database } from '../db/connection/database.js';
import { type ClaimedPush, describePushes } from '../db/push/push-queue.js';
import type { PushRecipient } from '../db/push/push-recipients.js';
import { type Claimed, type PushOutcome, postponed, withoutPush } from './outcome.js';
import { type PushAttemptDeps, type PushAttempts, spread } from './push-attempt.js';
import { jittered, WITHOUT_CERTIFICATE_MS } from './schedule.js';

export interface PusherDeps extends Omit<PushAttemptDeps, 'box' | 'availability'> {
  db: Database;
  owner: PushRecipient;
  attempts: PushAttempts;
}

/** How one claimed owner ended; null: its claim is left to run out. */
export type Report = (outcome: PushOutcome | null) => void;

const WAITING_WITHOUT_CERTIFICATE =
  'devices are to be pushed, but there is no push certificate of their topic: their commands wait; ' +
  'add it with POST /api/v1/push_certificates';

/** Pushes claimed devices, or users, and says how each ended: one report for each claim. */
export class Pusher {
  readonly #deps: PusherDeps;
  /** Topics without a certificate that were told of. */
  readonly #absent = new Set<string | null>();

  constructor(deps: PusherDeps) {
    this.#deps = deps;
  }

  /** Resolves when all are on their way. When it rejects, nothing was reported. */
  async push(claims: readonly ClaimedPush[], report: Report): Promise<void> {
    const byTopic = new Map<string | null, Claimed[]>();
    for (const claimed of await this.#describe(claims)) {
      const outcome = claimed && withoutPush(claimed);
      if (claimed === undefined) report(null);
      else if (outcome !== undefined) report(outcome);
      else gather(byTopic, claimed);
    }
    const topics = [...byTopic].map(([topic, members]) => this.#pushTopic(topic, members, report));
    await Promise.all(topics);
  }

  /** The certificates have changed: whatever is still missing is told of again. */
  forget(): void {
    this.#absent.clear();
  }

  /** An owner that has been deleted since is undefined. */
  async #describe(claims: readonly ClaimedPush[]): Promise<(Claimed | undefined)[]> {
    const ids = claims.map(({ ownerId }) => ownerId);
    const { db, owner } = this.#deps;
    const targets = await describePushes(db, owner, ids);
    const byId = new Map(targets.map((target) => [target.ownerId, target]));
    return claims.map((claim) => {
      const target = byId.get(claim.ownerId);
      return target && Object.assign(target, claim);
    });
  }

  async #pushTopic(topic: string | null, members: Claimed[], report: Report): Promise<void> {
    const plan = await this.#plan(topic, members).catch((error: unknown) => {
      const message = 'the pushes of a topic could not be sent; they are due again';
      this.#deps.logger.warn({ err: error, topic }, message);
      return () => null;
    });
    for (const [index, claimed] of members.entries()) {
      const outcome = plan(claimed, index);
      if (outcome instanceof Promise) void outcome.then(report);
      else report(outcome);
    }
  }

  /** What to do with each of the devices of one topic. */
  async #plan(topic: string | null, members: Claimed[]) {
    const { attempts, clients } = this.#deps;
    const client = topic === null ? undefined : await clients.forTopic(topic);
    if (attempts.isClosing) return (claimed: Claimed) => postponed(claimed, 0);
    if (topic === null || client === undefined) return this.#withoutClient(topic);
    const isTried = await this.#isTried(topic, members);
    return (claimed: Claimed, index: number) => {
      const { blockedFor } = claimed;
      const isProbe = isTried && index === 0;
      const attempt = { claimed, client, topic, isProbe };
      if (blockedFor === null || isProbe) return attempts.run(attempt);
      return postponed(claimed, Math.max(0, blockedFor) + spread());
    };
  }

  /** A blocked topic whose time has come is tried with one push, by one process. */
  async #isTried(topic: string, [first]: Claimed[]): Promise<boolean> {
    const blockedFor = first?.blockedFor ?? null;
    return blockedFor !== null && blockedFor <= 0 && (await this.#deps.topics.mayTry(topic));
  }

  #withoutClient(topic: string | null) {
    if (!this.#absent.has(topic)) this.#deps.logger.warn({ topic }, WAITING_WITHOUT_CERTIFICATE);
    this.#absent.add(topic);
    const reason = 'no_push_certificate';
    return (claimed: Claimed) => postponed(claimed, jittered(WITHOUT_CERTIFICATE_MS), reason);
  }
}

function gather(byTopic: Map<string | null, Claimed[]>, claimed: Claimed): void {
  const members = byTopic.get(claimed.topic);
  if (members === undefined) byTopic.set(claimed.topic, [claimed]);
  else members.push(claimed);
}
