import { OneOffProfiles } from '../assignments/one-off-profiles.js';
import { ProfilePayloads } from '../assignments/profile-payloads.js';
import { Reconciler } from '../assignments/reconciler.js';
import type { CommandQueue } from '../commands/queue.js';
import { ProfileRenderer } from '../commands/rendered-profile.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import type { Logger } from '../logger.js';
import type { TlsCertificates } from '../pki/tls/tls-certificates.js';
import { ProfileRebuild } from '../profiles/profile-rebuild.js';
import { DeviceSetups } from '../setup-assistant/device-setups.js';
import type { ThreadPool } from '../threads/thread-pool.js';
import { profileThreads, renderThreads } from '../threads/thread-uses.js';
import { currentSigner } from './served-tls.js';

export interface AssignedProfileDeps {
  db: Database;
  box: SecretBox;
  queue: CommandQueue;
  logger: Logger;
  threads: ThreadPool;
  tlsCertificates: TlsCertificates;
  /** Milliseconds: see DeviceSetups. */
  setupTimeout: number;
  credentialsPerMinute: number;
  /** See ReconcileScope. */
  maxRemovals: number;
}

/** What gets assigned profiles to devices. They are signed if the server has a certificate. */
export function createAssignedProfiles(deps: AssignedProfileDeps) {
  const { db, box, queue, logger, threads, tlsCertificates, setupTimeout: timeout } = deps;
  const { credentialsPerMinute, maxRemovals } = deps;
  const signed = (profile: Buffer) => currentSigner(tlsCertificates)?.sign(profile);
  const sign = (profile: Buffer) => signed(profile) ?? profile;
  const profiles = new ProfileRebuild({ box, sign: signed, ...profileThreads(threads) });
  const payloads = new ProfilePayloads({ box, logger, profiles, sign });
  const reconciler = new Reconciler({
    db,
    queue,
    logger,
    payloads,
    credentialsPerMinute,
    maxRemovals,
  });
  const setups = new DeviceSetups({ db, queue, logger, timeout, reconciler });
  const renderer = new ProfileRenderer({
    box,
    sign: async (profile) => (await currentSigner(tlsCertificates)?.signLater(profile)) ?? profile,
    ...renderThreads(threads),
  });
  const oneOffProfiles = new OneOffProfiles({
    queue,
    payloads,
    credentialPauseMs: 60_000 / credentialsPerMinute,
  });
  return { reconciler, oneOffProfiles, setups, renderer, sign };
}
