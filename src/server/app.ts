import type { ErrorRequestHandler, Express, RequestHandler, Router } from 'express';
import express from 'express';
import { version } from '../../package.json';
import { mountOpenOperations, mountRoutes } from '../api/api-route.js';
import { DEP_BASE, depTokenRoutes } from '../api/dep/dep-token.js';
import { adminRoutes } from '../api/routes.js';
import type { OneOffProfiles } from '../assignments/one-off-profiles.js';
import type { Backups } from '../backup/server/backups.js';
import type { DeviceActions } from '../commands/device-actions.js';
import type { Config } from '../config/config.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import type { Database } from '../db/connection/database.js';
import { isOutage } from '../db/connection/outage.js';
import { toAppError } from '../db/connection/sqlstate.js';
import type { DepServices } from '../dep/dep-services.js';
import { Diagnoses } from '../diagnosis/diagnoses.js';
import { createDiscoveryRouter } from '../enroll/account/discovery.js';
import {
  createDepRouter,
  createServiceConfigRouter,
} from '../enroll/automated/automated-enrollment.js';
import { EnrollmentPolicy } from '../enroll/enrollment-policy.js';
import type { IdentityRenewals } from '../enroll/renewal/identity-renewal.js';
import { createEnrollRouter } from '../enroll/router.js';
import type { ProfileSigner } from '../enroll/send-profile.js';
import type { EnrollServices } from '../enroll/services.js';
import { GroupPreviews } from '../groups/group-preview.js';
import type { BodyReader } from '../http/bodies/body-reader.js';
import { jsonApiErrorHandler, noSuchRoute, plainNotFound } from '../http/errors/json-api-errors.js';
import { createConsole } from '../http/pages/console.js';
import { builtConsole, readConsole } from '../http/pages/console-files.js';
import { createLabRouter } from '../http/pages/lab-page.js';
import { createRootPage } from '../http/pages/root-page.js';
import { compress } from '../http/requests/compress.js';
import { crossOrigin } from '../http/requests/cross-origin.js';
import { crossSite } from '../http/requests/cross-site.js';
import type { FailureSharing } from '../http/requests/failure-limit.js';
import { requestContext } from '../http/requests/request-context.js';
import { requestLog } from '../http/requests/request-log.js';
import { apiSecurityHeaders, pageSecurityHeaders } from '../http/requests/security-headers.js';
import { createProxyTrust } from '../http/requests/trust-proxy.js';
import type { DeviceHandler } from '../http/server/server.js';
import type { ApiContext } from '../jsonapi/handler.js';
import { createJsonApiRouter } from '../jsonapi/router.js';
import type { Lab } from '../lab-mode/lab-mode.js';
import type { Logger } from '../logger.js';
import { createMdmRouter } from '../mdm/handler.js';
import type { Metrics } from '../metrics/metrics.js';
import { createMetricsRouter } from '../metrics/metrics-router.js';
import type { CertificateAuthorities } from '../pki/authority/authorities.js';
import { EnrollmentChallenges } from '../pki/authority/enrollment-challenge.js';
import { AuthorityRotations } from '../pki/authority/stored-authority.js';
import type { TlsUse } from '../pki/certificates/certificate-checks.js';
import { CredentialFiles } from '../pki/credentials/credential-files.js';
import type { FileCertificate } from '../pki/credentials/credential-status.js';
import type { FileVaultKey } from '../pki/credentials/filevault-key.js';
import { PushCertificateRequests } from '../pki/push-certificates/push-request-service.js';
import { RevocationLists } from '../pki/revocation/revocation-lists.js';
import { RevocationResponder } from '../pki/revocation/revocation-responder.js';
import { createRevocationRouter } from '../pki/revocation/revocation-router.js';
import type { TlsCaveat } from '../pki/tls/tls-caveats.js';
import type { FactoryCaTrust } from '../pki/trust/factory-ca.js';
import type { Trust } from '../pki/trust/trust.js';
import { ProfileImport } from '../profiles/profile-import.js';
import { ProfileRebuild } from '../profiles/profile-rebuild.js';
import { requestTypes } from '../protocol/apple/command-schema.js';
import type { PushService } from '../push/push-service.js';
import { createScepRouter } from '../scep/router.js';
import type { ThreadPool } from '../threads/thread-pool.js';
import { profileThreads } from '../threads/thread-uses.js';
import { createApiContext } from './api-context.js';
import type { Authentication } from './authentication.js';
import { createServerDoctor } from './doctor.js';
import { healthRouter } from './health-checks.js';
import type { createResourceServices } from './resource-services.js';

export interface AppDeps {
  config: Config;
  db: Database;
  box: SecretBox;
  logger: Logger;
  authorities: CertificateAuthorities;
  trust: Trust;
  challenges: EnrollmentChallenges;
  renewals: IdentityRenewals;
  dep: Pick<DepServices, 'devices' | 'tokens'>;
  profileSigner: () => ProfileSigner | undefined;
  /** DER of what this process shows in TLS, the leaf first; empty over plain HTTP. */
  tlsChain: () => Buffer[];
  /** Who may sign as a device that is not enrolled yet. */
  factoryCas: FactoryCaTrust;
  /** What is wrong with how this process speaks TLS. */
  tlsCaveats: () => readonly TlsCaveat[];
  /** What stored ssl certificates are to this process. */
  tlsUse: TlsUse;
  /** The certificate of TLS_CERT_FILE. */
  tlsFile: () => FileCertificate | undefined;
  authentication: Authentication;
  deviceHandler: DeviceHandler;
  /** Directory of the console's files; by default where the build puts them. */
  consoleDirectory?: string | undefined;
  /** Reads bodies of senders that are not authenticated yet. */
  bodies: BodyReader;
  /** Reads files that admins upload. */
  uploads: BodyReader;
  threads: ThreadPool;
  actions: DeviceActions;
  fileVaultKey: FileVaultKey;
  oneOffProfiles: OneOffProfiles;
  services: ReturnType<typeof createResourceServices>;
  metrics: Metrics;
  backups: Backups;
  push: PushService;
  /** Only with LAB=on. */
  lab: Lab | undefined;
  /** undefined: no other process serves the same port. */
  failureSharing: FailureSharing | undefined;
}

function profileFiles({ box, trust, profileSigner, threads }: AppDeps) {
  const { checkInThread, ...rebuildThreads } = profileThreads(threads);
  const sign = (profile: Buffer) => profileSigner()?.sign(profile);
  return {
    profileImport: new ProfileImport({ box, anchors: () => trust.anchors, checkInThread }),
    profileRebuild: new ProfileRebuild({ box, sign, ...rebuildThreads }),
  };
}

/**
 * Translates a driver's error that means that the database is unreachable: 503, not an internal
 * error. Mounted before the error handler that answers.
 */
const explainOutages: ErrorRequestHandler = (error: unknown, req, _res, next) => {
  // A client that disconnects in the middle of its body causes the same errors.
  next(req.complete && isOutage(error) ? toAppError(error) : error);
};

/** The middleware before every route that admins call; `open` answers those that need no credentials. */
function adminMiddleware(
  { config, logger, authentication }: AppDeps,
  ...open: RequestHandler[]
): RequestHandler[] {
  return [
    apiSecurityHeaders({ https: config.publicUrl.startsWith('https:') }),
    requestLog({ logger, level: 'info' }),
    crossOrigin(config.corsOrigins),
    compress(),
    ...open,
    authentication.required,
    crossSite(config),
  ];
}

/** What admins call below /dep. Devices use other paths there, which need no token. */
function depApi(deps: AppDeps, api: ApiContext): Router {
  const { uploads } = deps;
  const routes = depTokenRoutes({ api, uploads, depTokenService: deps.dep.tokens });
  const paths = routes.map(({ path }) => path);
  const router = express.Router();
  router.use(paths, ...adminMiddleware(deps));
  router.use(mountRoutes(routes));
  router.use(paths, noSuchRoute, explainOutages, jsonApiErrorHandler(deps.logger));
  return router;
}

function adminApi(deps: AppDeps, api: ApiContext): Router {
  const { db, box, logger, actions, services, config, trust, push, uploads } = deps;
  const router = express.Router();
  const onScepChange = () => trust.reload();
  const credentialFiles = new CredentialFiles(box, config.keyExport);
  const routes = adminRoutes({
    ...deps.authentication,
    config,
    db,
    api,
    actions,
    services,
    push,
    onScepChange,
    credentialFiles,
    fileVaultKey: deps.fileVaultKey,
    oneOffProfiles: deps.oneOffProfiles,
    publicUrl: config.publicUrl,
    musterVersion: version,
    uploads,
    box,
    depTokenService: deps.dep.tokens,
    ...profileFiles(deps),
    pushCertificateRequests: new PushCertificateRequests({ box }),
    tlsCaveats: deps.tlsCaveats,
    tlsFile: deps.tlsFile,
    renewals: deps.renewals,
    tlsUse: deps.tlsUse,
    depDeviceActions: deps.dep.devices,
    authorityRotations: new AuthorityRotations(box),
    groupPreviews: new GroupPreviews(db),
    diagnoses: new Diagnoses(db, config),
    doctor: createServerDoctor({
      config,
      db,
      tlsCaveats: deps.tlsCaveats,
      tlsFile: deps.tlsFile,
      servesTls: deps.tlsChain().length > 0,
    }),
    requestTypes: requestTypes(),
    backups: deps.backups,
    onAuthoritiesChange: () => trust.reload().then(() => deps.authorities.reload()),
  });
  router.use(...adminMiddleware(deps, mountOpenOperations(routes)));
  router.use(mountRoutes(routes));
  router.use(createJsonApiRouter(api));
  router.use(noSuchRoute);
  router.use(explainOutages, jsonApiErrorHandler(logger));
  return router;
}

/** What every process answers, whatever its role. */
function mountOperations(
  app: Express,
  deps: AppDeps,
  consolePage: RequestHandler | undefined,
): void {
  const { config, logger, metrics, lab } = deps;
  app.use(pageSecurityHeaders({ https: config.publicUrl.startsWith('https:') }));
  app.use(healthRouter(deps));
  if (consolePage !== undefined) app.get('/', consolePage);
  app.use(createRootPage({ version, isServing: config.role !== 'worker' }));
  if (lab !== undefined) app.use(createLabRouter(() => lab.describe()));
  app.use(requestLog({ logger, level: 'debug' }));
  app.use(
    createMetricsRouter({
      metrics,
      logger,
      authenticate: deps.authentication.required,
      isBehindProxy: config.trustProxy.length > 0,
    }),
  );
}

/** Undefined where it is not built, and in a process without the API. */
function openConsole({ consoleDirectory, config }: AppDeps): RequestHandler | undefined {
  if (config.role === 'worker') return undefined;
  const files = readConsole(consoleDirectory ?? builtConsole());
  return files && createConsole(files);
}

function mountEnrollment(app: Express, deps: AppDeps): void {
  const { config, db, box, logger, authorities, challenges, trust, bodies } = deps;
  app.use(createScepRouter({ db, logger, authorities, challenges, trust, bodies }));
  const lists = new RevocationLists({ db, authorities });
  const responder = new RevocationResponder({ db, authorities, logger });
  app.use(createRevocationRouter({ authorities, lists, responder, bodies, logger }));
  const services: EnrollServices = {
    config,
    db,
    box,
    logger,
    challenges,
    bodies,
    factoryCas: deps.factoryCas,
    failureSharing: deps.failureSharing,
    publicUrl: config.publicUrl,
    signer: deps.profileSigner,
    tlsChain: deps.tlsChain,
    otaChallenges: new EnrollmentChallenges({ box, surface: 'ota' }),
    policy: new EnrollmentPolicy({ db, policy: config.enrollment }),
    caCertificates: () => [authorities.current.certificate.der],
  };
  app.use(createDiscoveryRouter(services));
  app.use('/enroll', createEnrollRouter(services));
  app.use('/dep', createDepRouter(services));
  app.use(createServiceConfigRouter(services));
}

/** Mounts the surfaces. The app is whole by itself; the server only gives /mdm a shorter way. */
export function createApp(deps: AppDeps): Express {
  const { config, logger } = deps;
  const isServing = config.role !== 'worker';
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  if (isServing) app.use(createMdmRouter(deps.deviceHandler, logger));
  app.use(requestContext(createProxyTrust(config.trustProxy)));
  const api = createApiContext(deps);
  if (isServing) app.use('/api/v1', adminApi(deps, api));
  const consolePage = openConsole(deps);
  mountOperations(app, deps, consolePage);
  if (isServing) app.use(DEP_BASE, depApi(deps, api));
  if (isServing) mountEnrollment(app, deps);
  // After all else: it must not hide what devices ask for.
  if (consolePage !== undefined) app.use(consolePage);
  app.use(plainNotFound);
  return app;
}
