import type { LRUCache } from 'lru-cache';
import type { ProfileRenderer } from '../commands/rendered-profile.js';
import type { ReportWorker } from '../commands/reports/report-worker.js';
import type { Config } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { KnownDevice } from '../db/device-path/authenticate.js';
import type { CheckIns } from '../db/device-path/check-ins.js';
import type { LastSeen } from '../db/device-path/last-seen.js';
import type { ReportExchange } from '../db/device-path/report-exchange.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import type { Logger } from '../logger.js';
import type { StatusReport } from '../protocol/mdm/declarative-management.js';
import type { IdentityDeps } from './identity.js';
import type { MessageReader } from './message-reader.js';

/** What answering a device needs. */
export interface MdmServices extends IdentityDeps {
  bodies: BodyReader;
  reportExchange: ReportExchange;
  checkIns: CheckIns;
  db: Database;
  /** Devices that sent Authenticate to this process, but no TokenUpdate since. */
  recentAuthenticates: LRUCache<string, KnownDevice>;
  lastSeen: LastSeen;
  reports: ReportWorker;
  /** Builds profiles that are made for each device. */
  profiles: Pick<ProfileRenderer, 'render'>;
  messages: MessageReader;
  /** Reads a large status report of declarative management in another thread. */
  readStatusInThread: (data: Buffer) => Promise<StatusReport>;
  /** Called when a check-in made a push due. */
  onPushDue?: (() => void) | undefined;
  /** Called when a device waits in Setup Assistant. Never rejects. */
  onAwaitingConfiguration?: ((deviceId: number) => Promise<void>) | undefined;
  box: SecretBox;
  /** How UserAuthenticate is answered. */
  userAuthenticate: Config['userAuthenticate'];
  logger: Logger;
}
