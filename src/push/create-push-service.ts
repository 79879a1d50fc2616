import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { ChangeFeed } from '../db/processes/change-feed.js';
import type { JobQueue } from '../jobs/task.js';
import type { Logger } from '../logger.js';
import type { ApnsClients } from './apns/apns-clients.js';
import { Availability } from './availability.js';
import { BlockedTopics } from './blocked-topics.js';
import { Dispatcher } from './dispatcher.js';
import { PushAttempts } from './push-attempt.js';
import { PushByHand } from './push-by-hand.js';
import type { PushService } from './push-service.js';
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
  /** For the metrics: how many pushes ended so. */
  onResult?: (result: string, count: number) => void;
}

const STOP_MS = 2_000;
const OWNERS = ['device', 'user'] as const;

export function createPushService(deps: PushServiceDeps): PushService {
  const { db, box, clients, changes, logger, dispatches, onResult } = deps;
  const availability = new Availability(logger);
  const topics = new BlockedTopics(deps);
  const attempts = new PushAttempts({ box, clients, logger, topics, availability });
  // Their rows are claimed apart; connections, topics and what is known of the service they share.
  const pushers = OWNERS.map((owner) => {
    const pusher = new Pusher({ db, owner, clients, logger, topics, attempts });
    const line = { db, owner, logger, pusher, attempts, availability, onResult };
    return { pusher, dispatcher: new Dispatcher(line) };
  });
  const wake = () => {
    for (const { dispatcher } of pushers) dispatcher.wake();
  };
  const byHand = new PushByHand({ db, box, clients, attempts, onResult });
  if (dispatches) changes.on('pushes', wake);
  changes.on('push_topics', () => topics.forget());
  changes.on('push_certificates', () => {
    for (const { pusher } of pushers) pusher.forget();
    return clients.refresh();
  });
  return {
    start: () => {
      if (dispatches) for (const { dispatcher } of pushers) dispatcher.start();
    },
    wake: () => {
      if (dispatches) wake();
      else changes.announce('pushes');
    },
    pushByHand: (deviceId) => byHand.push(deviceId),
    trouble: () => availability.trouble,
    onTrouble: (listener) => availability.onChange(listener),
    stop: async () => {
      const stopping = pushers.map(({ dispatcher }) => dispatcher.stop(STOP_MS));
      await Promise.all([...stopping, clients.close()]);
    },
  };
}
