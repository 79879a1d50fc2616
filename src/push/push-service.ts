import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { PushFailure } from '../db/processes/process-repository.js';
import { PUSH_RECIPIENTS } from '../db/push/push-recipients.js';
import type { JobQueue } from '../jobs/job-queue.js';
import type { Logger } from '../logger.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { Availability } from './availability.js';
import { BlockedTopics } from './blocked-topics.js';
import { Dispatcher } from './dispatcher.js';
import { PushAttempts } from './push-attempts.js';
import { PushByHand, type PushedByHand } from './push-by-hand.js';
import { Pusher } from './pusher.js';

export interface PushServiceDeps {
  db: Database;
  box: SecretBox;
  /** Closed with the service. */
  clients: ApnsClients;
  jobs: JobQueue;
  changes: Pick<ChangeFeed, 'on' | 'announce'>;
  logger: Logger;
  /** This process sends the pushes that are due; otherwise it only announces them. */
  dispatches: boolean;
  /** For the metrics: how many pushes had this result. */
  onResult?: ((result: string, count: number) => void) | undefined;
}

const STOP_MS = 2_000;

/** Sends the pushes of one process: those that are due, and those that an admin requests. */
export class PushService {
  readonly #deps: PushServiceDeps;
  readonly #availability: Availability;
  readonly #dispatchers: Dispatcher[] = [];
  readonly #byHand: PushByHand;

  constructor(deps: PushServiceDeps) {
    const { db, box, clients, changes, logger, onResult } = deps;
    const availability = new Availability(logger);
    const topics = new BlockedTopics(deps);
    const attempts = new PushAttempts({ box, clients, logger, topics, availability });
    // Devices and users are claimed separately; connections and the state of topics are shared.
    for (const recipient of PUSH_RECIPIENTS) {
      const pusher = new Pusher({ db, recipient, clients, logger, topics, attempts });
      this.#dispatchers.push(
        new Dispatcher({ db, recipient, logger, pusher, attempts, availability, onResult }),
      );
      changes.on('push_certificates', () => pusher.forgetMissingCertificates());
    }
    this.#deps = deps;
    this.#availability = availability;
    this.#byHand = new PushByHand({ db, box, clients, attempts, onResult });
    if (deps.dispatches) changes.on('pushes', () => this.#wakeDispatchers());
    changes.on('push_topics', () => topics.forget());
    changes.on('push_certificates', () => clients.refresh());
  }

  /** Begins to push whatever is due; without effect in processes that do no background work. */
  start(): void {
    if (this.#deps.dispatches) for (const dispatcher of this.#dispatchers) dispatcher.start();
  }

  /** Something has become due (call it after the commit). Cheap; many calls become one. */
  wake(): void {
    if (this.#deps.dispatches) this.#wakeDispatchers();
    else this.#deps.changes.announce('pushes');
  }

  /** AppError 404; 409 device_not_pushable, no_push_certificate; 503 push_service_unreachable. */
  pushByHand(deviceId: number): Promise<PushedByHand> {
    return this.#byHand.push(deviceId);
  }

  /** Why this process cannot push; null while it can, or has nothing to push. */
  get failure(): PushFailure | null {
    return this.#availability.failure;
  }

  /** Runs `listener` when a failure begins and when it ends. */
  onFailureChange(listener: () => void): void {
    this.#availability.onChange(listener);
  }

  /** Waits at most two seconds for running pushes. */
  async stop(): Promise<void> {
    const stopping = this.#dispatchers.map((dispatcher) => dispatcher.stop(STOP_MS));
    await Promise.all([...stopping, this.#deps.clients.close()]);
  }

  #wakeDispatchers(): void {
    for (const dispatcher of this.#dispatchers) dispatcher.wake();
  }
}
