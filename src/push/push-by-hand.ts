import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { toAppError } from '../db/connection/sqlstate.js';
import { inTransaction } from '../db/connection/unit-of-work.js';
import { requestPushes } from '../db/push/push-enqueue.js';
import { describePushes, type PushTarget } from '../db/push/push-queue.js';
import { notePushResults, type PushResult } from '../db/push/push-results.js';
import { AppError, notFound } from '../errors.js';
import type { ApnsClient } from './apns/apns-client.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { ApnsUnreachableError } from './apns/apns-unreachable.js';
import { resultOf, unanswered } from './outcome.js';
import type { PushAttempts } from './push-attempt.js';
import type { PushedByHand } from './push-service.js';
import { openPushToken, type PushToken } from './push-token.js';
import { nextPushIn } from './schedule.js';

export interface PushByHandDeps {
  db: Database;
  box: SecretBox;
  clients: Pick<ApnsClients, 'forTopic'>;
  attempts: PushAttempts;
  onResult?: ((result: string, count: number) => void) | undefined;
}

interface Aim {
  target: PushTarget;
  topic: string;
  client: ApnsClient;
  token: PushToken;
}

function notPushable(deviceId: number, why: string): AppError {
  return new AppError('device_not_pushable', 409, `device ${deviceId} cannot be pushed: ${why}`);
}

/** One push now, whatever the schedule says and whether or not the topic is blocked. */
export class PushByHand {
  constructor(private readonly deps: PushByHandDeps) {}

  async push(deviceId: number): Promise<PushedByHand> {
    try {
      return await this.#push(await this.#aim(deviceId));
    } catch (error) {
      throw toAppError(error);
    }
  }

  async #push(aim: Aim): Promise<PushedByHand> {
    const { client, topic, target, token } = aim;
    const answer = await client.push({ ...token, topic }).catch(async (error: unknown) => {
      if (error instanceof ApnsUnreachableError) await this.#noteFailure(aim, error);
      throw error;
    });
    const pushedAt = new Date();
    await this.#note(resultOf(target, answer));
    await this.deps.attempts.noteAnswer(attemptOf(aim), answer);
    return { ...answer, deviceId: target.deviceId, topic, pushedAt };
  }

  async #aim(deviceId: number): Promise<Aim> {
    const { db, box, clients } = this.deps;
    const [target] = await describePushes(db, 'device', [deviceId]);
    if (target === undefined) throw notFound(`device ${deviceId}`);
    if (!target.isEnrolled) throw notPushable(deviceId, 'it is not enrolled');
    const { topic, sealedPush, identity } = target;
    if (sealedPush === null) throw notPushable(deviceId, 'it has not sent a push token');
    if (topic === null) throw notPushable(deviceId, 'it has not named a push topic');
    const client = await clients.forTopic(topic);
    if (client === undefined) throw withoutCertificate(topic);
    return { target, topic, client, token: openPushToken(box, { sealedPush, identity }) };
  }

  async #noteFailure(aim: Aim, { kind }: ApnsUnreachableError): Promise<void> {
    await this.#note(unanswered(aim.target.ownerId, kind));
    const isRefused = kind === 'certificate_refused';
    if (isRefused) await this.deps.attempts.refuse({ ...attemptOf(aim), reason: kind });
  }

  /** A device that is heard of again is pushed for what waits for it, as any other. */
  async #note(result: PushResult): Promise<void> {
    const { db, onResult } = this.deps;
    onResult?.(result.result, 1);
    await notePushResults(db, 'device', [result]);
    if (result.pushState !== 'ok') return;
    const at = new Date(Date.now() + nextPushIn(0));
    await inTransaction(db, (trx) => requestPushes(trx, [result.ownerId], { at }));
  }
}

function attemptOf({ client, topic, target }: Aim) {
  return { client, topic, isProbe: target.blockedFor !== null };
}

function withoutCertificate(topic: string): AppError {
  return new AppError(
    'no_push_certificate',
    409,
    `there is no push certificate for the topic ${topic}; add it with POST /api/v1/push_certificates`,
  );
}
