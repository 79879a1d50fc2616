import { LRUCache } from 'lru-cache';
import { HANDLED_TYPES } from '../commands/registry.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/connection/database.js';
import type { KnownDevice } from '../db/device-path/authenticate.js';
import { CheckIns } from '../db/device-path/check-ins.js';
import { ReportExchange } from '../db/device-path/report-exchange.js';
import {
  BODY_LIMITS,
  type BodyLimits,
  BodyReader,
  UPLOAD_LIMITS,
} from '../http/bodies/body-reader.js';
import { createProxyTrust } from '../http/requests/trust-proxy.js';
import type { Logger } from '../logger.js';
import { createClientCertificates } from '../mdm/client-certificates.js';
import { createExpiryWarner } from '../mdm/identity.js';
import { SignerCache } from '../protocol/mdm/signer-cache.js';

/** How devices are identified. */
export function identitySources(config: Config, logger: Logger) {
  const { tlsClientCert: fromTls, clientCertHeader: header } = config;
  const signers = new SignerCache(config.identityCache);
  const proxies = createProxyTrust(config.trustProxy);
  return {
    signers,
    clientCertificates: createClientCertificates({ fromTls, header, proxies, signers }),
    onExpired: createExpiryWarner(logger, config.identityGrace),
  };
}

/** Two readers for the whole process: bodies of devices and unauthenticated senders, and uploads of admins. */
export function bodyReaders({
  config,
  logger,
  bodyLimits,
}: {
  config: Config;
  logger: Logger;
  bodyLimits?: BodyLimits | undefined;
}) {
  const proxies = createProxyTrust(config.trustProxy);
  return {
    bodies: new BodyReader({ proxies, logger, limits: bodyLimits ?? BODY_LIMITS }),
    uploads: new BodyReader({ proxies, logger, limits: bodyLimits ?? UPLOAD_LIMITS }),
  };
}

/** What answers check-ins and reports. */
export function deviceMessages({ enrollment, replaceEnrolled }: Config, db: Database) {
  return {
    reportExchange: new ReportExchange({ db, handledTypes: HANDLED_TYPES }),
    checkIns: new CheckIns(db, {
      isClosed: enrollment === 'closed',
      isHolding: replaceEnrolled === 'hold',
    }),
    recentAuthenticates: new LRUCache<string, KnownDevice>({ max: 10_000, ttl: 600_000 }),
  };
}
