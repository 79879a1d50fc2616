import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Express } from 'express';
import { LRUCache } from 'lru-cache';
import { createTokenVerifier } from './api/tokens.js';
import { createApp } from './app.js';
import { DeviceActions } from './commands/device-actions.js';
import { CommandQueue } from './commands/queue.js';
import { HANDLED_TYPES } from './commands/registry.js';
import { ReportWorker } from './commands/report-worker.js';
import { type Config, ConfigError } from './config.js';
import { parseCertificate } from './crypto/certificate.js';
import { importPrivateKey } from './crypto/keys.js';
import { decodePem } from './crypto/pem.js';
import type { SecretBox } from './crypto/secret-box.js';
import type { Database } from './db/database.js';
import type { KnownDevice } from './db/device-path/authenticate.js';
import { createCheckIns } from './db/device-path/check-ins.js';
import { createContactStore } from './db/device-path/contact.js';
import { LastSeen } from './db/device-path/last-seen.js';
import { createProfileSigner, type ProfileSigner } from './enroll/profile-signer.js';
import type { DeviceHandler, TlsFiles } from './http/server.js';
import type { Logger } from './logger.js';
import { createDeviceHandler } from './mdm/handler.js';
import { ensureCertificateAuthority } from './pki/authority.js';
import { createEnrollmentChallenges } from './pki/enrollment-challenge.js';
import { createTrust } from './pki/trust.js';
import { createTrustRefresh } from './pki/trust-refresh.js';
import { SignerCache } from './protocol/mdm-signature.js';
import { createResourceServices } from './resource-services.js';

export interface ContainerDeps {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
}

export interface Container {
  app: Express;
  deviceHandler: DeviceHandler;
  tls: TlsFiles | undefined;
  /** Begins the background work of this process. */
  start(): void;
  /** Ends it: what is under way is finished, what is in memory is written. */
  stop(): Promise<void>;
}

/** Throws ConfigError that tells what is wrong with the files. */
export function readTls({ tls }: Config): { cert: Buffer; key: Buffer } | undefined {
  if (tls === undefined) return undefined;
  const problems: string[] = [];
  const attempt = <T>(name: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  const cert = attempt('TLS_CERT_FILE', () => readFileSync(tls.certFile));
  const key = attempt('TLS_KEY_FILE', () => readFileSync(tls.keyFile));
  if (cert !== undefined && key !== undefined) {
    attempt('TLS_CERT_FILE, TLS_KEY_FILE', () => createSecureContext({ cert, key }));
    if (problems.length === 0) return { cert, key };
  }
  throw new ConfigError(problems);
}

/** The server's TLS certificate signs the profiles too, so that devices show them as verified. */
function createSigner(tls: ReturnType<typeof readTls>): ProfileSigner | undefined {
  if (tls === undefined) return undefined;
  const certificates = decodePem(tls.cert.toString('utf8')).map(({ der }) => parseCertificate(der));
  const [leaf, ...chain] = certificates;
  if (leaf === undefined) throw new Error('TLS_CERT_FILE holds no certificate');
  const privateKey = importPrivateKey(tls.key);
  return createProfileSigner({ certificate: leaf, privateKey }, chain);
}

/** The one place where everything is put together. */
export async function createContainer(deps: ContainerDeps): Promise<Container> {
  const { config, db, box, logger } = deps;
  const authority = await ensureCertificateAuthority({ db, box, logger });
  const trust = await createTrust({ db });
  const trustRefresh = createTrustRefresh({ trust, logger });
  const tokens = createTokenVerifier({ db, logger, adminToken: config.adminToken });
  const queue = new CommandQueue(box);
  const reports = new ReportWorker({ db, box, queue, logger });
  const lastSeen = new LastSeen(db, (error) =>
    logger.warn({ err: error }, 'times of contact could not be written'),
  );
  const contacts = createContactStore({ db, handledTypes: HANDLED_TYPES });
  const checkIns = createCheckIns(db);
  const authenticated = new LRUCache<string, KnownDevice>({ max: 10_000, ttl: 600_000 });
  const signers = new SignerCache();
  const tls = readTls(config);
  const deviceHandler = createDeviceHandler({
    ...{ contacts, checkIns, authenticated, db, lastSeen, reports, box, logger, trust, signers },
  });
  const app = createApp({
    ...{ config, db, box, logger, authority, trust, tokens, deviceHandler },
    actions: new DeviceActions(box, queue),
    services: createResourceServices({
      ...{ box, queue, publicUrl: config.publicUrl },
      // The others learn it by their refresh.
      onAuthoritiesChange: () => {
        trust.reload().catch((error: unknown) => {
          logger.warn({ err: error }, 'the trusted CAs could not be read');
        });
      },
    }),
    challenges: createEnrollmentChallenges({ box }),
    profileSigner: createSigner(tls),
  });
  return {
    ...{ app, deviceHandler, tls },
    start: () => {
      reports.start();
      trustRefresh.start();
    },
    stop: async () => {
      await trustRefresh.stop();
      await reports.drain();
      await lastSeen.flush();
      await tokens.close();
    },
  };
}
