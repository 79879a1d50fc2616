import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { requestPushes } from '../db/push/push-enqueue.js';
import { describePushes, type PushTarget } from '../db/push/push-queue.js';
import { type PushResult, storePushResults } from '../db/push/push-results.js';
import { AppError, notFound } from '../errors.js';
import type { ApnsAnswer } from '../protocol/apns.js';
import type { ApnsClient } from './apns/apns-client.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { ApnsUnreachableError } from './apns/apns-failures.js';
import { resultOf, unanswered } from './outcome.js';
import { openPushToken, type PushAttempts, type PushToken } from './push-attempts.js';
import { nextPushIn } from './schedule.js';

export interface PushByHandDeps {
  db: Database;
  box: SecretBox;
  clients: Pick<ApnsClients, 'forTopic'>;
  attempts: PushAttempts;
  onResult?: ((result: string, count: number) => void) | undefined;
}

/** Apple's answer to a push by hand. */
export interface PushedByHand extends ApnsAnswer {
  deviceId: number;
  topic: string;
  pushedAt: Date;
}

interface Destination {
  target: PushTarget;
  topic: string;
  client: ApnsClient;
  token: PushToken;
}

/** Pushes at once, regardless of the schedule and even if the topic is blocked. */
export class PushByHand {
  constructor(private readonly deps: PushByHandDeps) {}

  async push(deviceId: number): Promise<PushedByHand> {
    try {
      return await this.#push(await this.#destination(deviceId));
    } catch (error) {
      throw toAppError(error);
    }
  }

  async #push(destination: Destination): Promise<PushedByHand> {
    const { client, topic, target, token } = destination;
    const answer = await client.push({ ...token, topic }).catch(async (error: unknown) => {
      if (error instanceof ApnsUnreachableError) await this.#storeFailure(destination, error);
      throw error;
    });
    const pushedAt = new Date();
    await this.#store(resultOf(target, answer));
    await this.deps.attempts.recordAnswer(attemptOf(destination), answer);
    return { ...answer, deviceId: target.deviceId, topic, pushedAt };
  }

  async #destination(deviceId: number): Promise<Destination> {
    const { db, box, clients } = this.deps;
    const [target] = await describePushes(db, 'device', [deviceId]);
    if (target === undefined) throw notFound(`device ${deviceId}`);
    if (!target.isEnrolled) throw notPushable(deviceId, 'it is not enrolled');
    const { topic, sealedPush, sealLabel } = target;
    if (sealedPush === null) throw notPushable(deviceId, 'it has not sent a push token');
    if (topic === null) throw notPushable(deviceId, 'it has not named a push topic');
    const client = await clients.forTopic(topic);
    if (client === undefined) throw withoutCertificate(topic);
    return { target, topic, client, token: openPushToken(box, { sealedPush, sealLabel }) };
  }

  async #storeFailure(destination: Destination, { kind }: ApnsUnreachableError): Promise<void> {
    await this.#store(unanswered(destination.target.recipientId, kind));
    const isRefused = kind === 'certificate_refused';
    if (isRefused) await this.deps.attempts.refuse({ ...attemptOf(destination), reason: kind });
  }

  /** A device that can be pushed again is also scheduled for the commands queued for it. */
  async #store(result: PushResult): Promise<void> {
    const { db, onResult } = this.deps;
    onResult?.(result.result, 1);
    await storePushResults(db, 'device', [result]);
    if (result.pushState !== 'ok') return;
    const at = new Date(Date.now() + nextPushIn(0));
    await inTransaction(db, (trx) => requestPushes(trx, [result.recipientId], { at }));
  }
}

function attemptOf({ client, topic, target }: Destination) {
  return { client, topic, isProbe: target.blockedFor !== null };
}

function notPushable(deviceId: number, why: string): AppError {
  return new AppError('device_not_pushable', 409, `device ${deviceId} cannot be pushed: ${why}`);
}

function withoutCertificate(topic: string): AppError {
  return new AppError(
    'no_push_certificate',
    409,
    `there is no push certificate for the topic ${topic}; add it with POST /api/v1/push_certificates`,
  );
}
