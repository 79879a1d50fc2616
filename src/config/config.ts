import { resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from './config-error.js';
import { combined, readDotEnv, withoutEmpty } from './dot-env.js';
import { type OidcConfig, oidcOf } from './oidc.js';
import { APPLE_DEP_HOST, APPLE_PUSH_HOST, crossProblems } from './problems.js';
import { type UnknownSetting, unknownSettings } from './unknown-settings.js';
import {
  auditRetention,
  backupCount,
  backupInterval,
  cachedIdentities,
  countPerMinute,
  databaseUrl,
  deviceCount,
  grace,
  headerName,
  interval,
  isLoopback,
  limit,
  masterKey,
  networks,
  oneOf,
  onOff,
  origins,
  passphrase,
  port,
  retention,
  serviceHost,
  serviceUrl,
  sessionTime,
  setupTimeout,
  syncInterval,
  url,
  workers,
} from './values.js';

export { APPLE_DEP_HOST, APPLE_PUSH_HOST, ConfigError, isLoopback };

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const ENROLLMENT_POLICIES = ['open', 'link', 'closed'] as const;
export const REPLACEMENTS = ['allow', 'hold'] as const;
export const ACCOUNT_ENROLLMENTS = ['off', 'byod', 'adde'] as const;
export const USER_AUTHENTICATIONS = ['refuse', 'empty-digest'] as const;
export const ROLES = ['all', 'web', 'worker'] as const;

/** The configuration of the server. Paths are absolute; `publicUrl` does not end in a slash. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly publicUrl: string;
  /** undefined: the embedded PostgreSQL under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** undefined: the one generated at the first start. */
  readonly adminToken: string | undefined;
  /** 32 bytes; undefined: the one generated at the first start. */
  readonly masterKey: Buffer | undefined;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** False: plain HTTP, even if an ssl certificate is stored. */
  readonly storedTls: boolean;
  /** Ask for client certificates in the TLS handshake: devices may identify themselves by them. */
  readonly tlsClientCert: boolean;
  /** Addresses and networks in CIDR form. */
  readonly trustProxy: readonly string[];
  /** In lower case: the header in which a proxy of `trustProxy` passes the client's certificate. */
  readonly clientCertHeader: string | undefined;
  /** PEM file of further CAs of Apple devices, beside the one built in. */
  readonly deviceCaFile: string | undefined;
  /** Milliseconds for which a device may still use its expired identity. */
  readonly identityGrace: number;
  /** web serves the surfaces, worker does the background work, all does both. */
  readonly role: (typeof ROLES)[number];
  /** Processes that serve; with more than one this process serves nothing itself. */
  readonly workers: number;
  /** How many identities of devices each process keeps in memory. */
  readonly identityCache: number;
  /** Origin of Apple's push service, or of a stand-in. */
  readonly apnsHost: string;
  /** PEM file of CAs to trust for `apnsHost`; undefined: those of Node.js. */
  readonly apnsCaFile: string | undefined;
  /** Origin of Apple's DEP service, or of a stand-in. */
  readonly depHost: string;
  /** PEM file of CAs to trust for `depHost`; undefined: those of Node.js. */
  readonly depCaFile: string | undefined;
  /** Milliseconds between two syncs of an account; undefined: only on request. */
  readonly depSyncInterval: number | undefined;
  /** Run stand-ins for Apple's services in this process, for trials. */
  readonly lab: boolean;
  /** Milliseconds between two inventories of a device; undefined: only on request. */
  readonly inventoryInterval: number | undefined;
  /** A write that assigns a profile, or another version, to more devices has to be confirmed. */
  readonly confirmAbove: number;
  /** The same for one that removes a profile from that many devices, and from a tenth of those with it. */
  readonly confirmRemovals: number;
  /** Most assigned profiles in a minute with which devices fetch a credential (SCEP, ACME). */
  readonly credentialsPerMinute: number;
  readonly enrollment: (typeof ENROLLMENT_POLICIES)[number];
  /** Whether an unproven enrollment of an enrolled device is allowed, or held for an admin. */
  readonly replaceEnrolled: (typeof REPLACEMENTS)[number];
  /** Automated enrollment only for devices of a synced account; undefined: once there is one. */
  readonly adeOnlyKnown: boolean | undefined;
  /** Which devices people enroll with their account: their own, the organization's, or none. */
  readonly accountEnrollment: (typeof ACCOUNT_ENROLLMENTS)[number];
  /** The provider that signs people in for it; undefined: the users stored here sign in. */
  readonly oidc: OidcConfig | undefined;
  /** The answer to network users of Macs: refused, or accepted with an empty digest. */
  readonly userAuthenticate: (typeof USER_AUTHENTICATIONS)[number];
  /** Milliseconds after which a device that waits in Setup Assistant is released in any case. */
  readonly setupTimeout: number;
  /** Milliseconds without contact after which a device counts as silent; undefined: never. */
  readonly silentAfter: number | undefined;
  /** Milliseconds of NotNow after which a device counts as busy; undefined: never. */
  readonly busyAfter: number | undefined;
  /** Milliseconds after which the inventory of a device counts as stale; undefined: never. */
  readonly inventoryStaleAfter: number | undefined;
  /** Milliseconds for which changes of devices are kept; undefined: for good. */
  readonly changeRetention: number | undefined;
  /** Milliseconds for which finished commands are kept; undefined: for good. */
  readonly commandRetention: number | undefined;
  /** Milliseconds for which the audit trail is kept; undefined: for good. */
  readonly auditRetention: number | undefined;
  /** Milliseconds without use after which a session of the console ends. */
  readonly sessionIdle: number;
  /** Milliseconds after which it ends in any case. */
  readonly sessionMax: number;
  /** Where the server writes backups; undefined: nowhere. */
  readonly backupDir: string | undefined;
  /** Milliseconds between two backups; undefined: only on request. */
  readonly backupEvery: number | undefined;
  /** How many backups stay in `backupDir`. */
  readonly backupKeep: number;
  /** Encrypts backups; undefined: they are not encrypted. */
  readonly backupPassphrase: string | undefined;
  /** Whether handled answers to scheduled commands are kept, too. */
  readonly keepResults: boolean;
  /** False: private keys cannot be exported. */
  readonly keyExport: boolean;
  /** Origins of front ends on other hosts that may call the API from a browser. */
  readonly corsOrigins: readonly string[];
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** Variables that are probably misspelt; they have no effect. */
  readonly unknownSettings: readonly UnknownSetting[];
}

/** One member per variable; `.env.example` documents each. */
export const ENVIRONMENT = z.object({
  PORT: port.default(8080),
  HOST: z.string().regex(/^\S+$/, 'must be an address or a host name').default('127.0.0.1'),
  PUBLIC_URL: url.transform((text) => text.replace(/\/+$/, '')).optional(),
  DATABASE_URL: databaseUrl.optional(),
  DATA_DIR: z.string().default('./data'),
  ADMIN_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{16,}$/, 'must have 16 characters or more, ASCII without spaces')
    .optional(),
  MASTER_KEY: masterKey.optional(),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  TLS: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
  TLS_CLIENT_CERT: onOff.default('off'),
  TRUST_PROXY: networks.default([]),
  CLIENT_CERT_HEADER: headerName.optional(),
  DEVICE_CA_FILE: z.string().optional(),
  IDENTITY_GRACE: grace,
  ENROLLMENT: oneOf(ENROLLMENT_POLICIES, 'open'),
  REPLACE_ENROLLED: oneOf(REPLACEMENTS, 'allow'),
  ADE_ONLY_KNOWN: onOff.optional(),
  ACCOUNT_ENROLLMENT: oneOf(ACCOUNT_ENROLLMENTS, 'byod'),
  OIDC_ISSUER: serviceUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_ACCOUNT_CLAIM: z.string().default('email'),
  USER_AUTHENTICATE: oneOf(USER_AUTHENTICATIONS, 'refuse'),
  SETUP_TIMEOUT: setupTimeout,
  SILENT_AFTER: limit('7d'),
  BUSY_AFTER: limit('3d'),
  INVENTORY_STALE_AFTER: limit('14d'),
  CHANGE_RETENTION: retention('180d'),
  COMMAND_RETENTION: retention('90d'),
  AUDIT_RETENTION: auditRetention,
  SESSION_IDLE: sessionTime('8h'),
  SESSION_MAX: sessionTime('7d'),
  BACKUP_DIR: z.string().optional(),
  BACKUP_EVERY: backupInterval,
  BACKUP_KEEP: backupCount.default(7),
  BACKUP_PASSPHRASE: passphrase.optional(),
  KEEP_RESULTS: onOff.default('off'),
  KEY_EXPORT: onOff.default('on'),
  CORS_ORIGINS: origins.default([]),
  ROLE: oneOf(ROLES, 'all'),
  WORKERS: workers.default(1),
  IDENTITY_CACHE: cachedIdentities.default(100_000),
  APNS_HOST: serviceHost.default(APPLE_PUSH_HOST),
  APNS_CA_FILE: z.string().optional(),
  DEP_HOST: serviceHost.default(APPLE_DEP_HOST),
  DEP_CA_FILE: z.string().optional(),
  DEP_SYNC_INTERVAL: syncInterval,
  LAB: onOff.default('off'),
  INVENTORY_INTERVAL: interval,
  CONFIRM_ABOVE: deviceCount.default(500),
  CONFIRM_REMOVALS: deviceCount.default(20),
  CREDENTIALS_PER_MINUTE: countPerMinute.default(300),
  LOG_LEVEL: oneOf(LOG_LEVELS, 'info'),
});

type Environment = z.infer<typeof ENVIRONMENT>;

/** Changes the default `publicUrl` to https, once this server is known to use TLS. */
export function withHttps(config: Config): Config {
  const ownUrl = `localhost:${config.port}`;
  if (config.publicUrl !== `http://${ownUrl}`) return config;
  return Object.freeze({ ...config, publicUrl: `https://${ownUrl}` });
}

/**
 * Reads the environment and the `.env` of `cwd`, which the environment overrides; variables that
 * are not Muster's are ignored, and named if they look like a misspelt setting. Throws ConfigError with all problems at once.
 */
export function loadConfig(
  environment: Record<string, string | undefined> = process.env,
  cwd: string = process.cwd(),
): Config {
  const dotEnv = withoutEmpty(readDotEnv(cwd));
  const env = combined(dotEnv, environment);
  const parsed = ENVIRONMENT.safeParse(env);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  problems.push(...crossProblems(env));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const unknown = unknownSettings({
    settings: Object.keys(ENVIRONMENT.shape),
    dotEnv: Object.keys(dotEnv),
    environment: Object.keys(environment),
  });
  return Object.freeze({ ...toConfig(parsed.data, cwd), unknownSettings: Object.freeze(unknown) });
}

function toConfig(env: Environment, cwd: string): Omit<Config, 'unknownSettings'> {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } = env;
  const tls =
    cert === undefined || key === undefined
      ? undefined
      : Object.freeze({ certFile: resolve(cwd, cert), keyFile: resolve(cwd, key) });
  const scheme = tls === undefined ? 'http' : 'https';
  return {
    port: env.PORT,
    host: env.HOST,
    publicUrl: env.PUBLIC_URL ?? `${scheme}://localhost:${env.PORT}`,
    databaseUrl: env.DATABASE_URL,
    dataDir: resolve(cwd, env.DATA_DIR),
    adminToken: env.ADMIN_TOKEN,
    masterKey: env.MASTER_KEY,
    tls,
    storedTls: env.TLS === 'auto',
    tlsClientCert: env.TLS_CLIENT_CERT === 'on',
    trustProxy: Object.freeze(env.TRUST_PROXY),
    clientCertHeader: env.CLIENT_CERT_HEADER,
    deviceCaFile: env.DEVICE_CA_FILE === undefined ? undefined : resolve(cwd, env.DEVICE_CA_FILE),
    identityGrace: env.IDENTITY_GRACE,
    enrollment: env.ENROLLMENT,
    replaceEnrolled: env.REPLACE_ENROLLED,
    adeOnlyKnown: env.ADE_ONLY_KNOWN === undefined ? undefined : env.ADE_ONLY_KNOWN === 'on',
    accountEnrollment: env.ACCOUNT_ENROLLMENT,
    oidc: oidcOf(env),
    userAuthenticate: env.USER_AUTHENTICATE,
    setupTimeout: env.SETUP_TIMEOUT,
    silentAfter: env.SILENT_AFTER,
    busyAfter: env.BUSY_AFTER,
    inventoryStaleAfter: env.INVENTORY_STALE_AFTER,
    changeRetention: env.CHANGE_RETENTION,
    commandRetention: env.COMMAND_RETENTION,
    auditRetention: env.AUDIT_RETENTION,
    sessionIdle: env.SESSION_IDLE,
    sessionMax: env.SESSION_MAX,
    backupDir: env.BACKUP_DIR === undefined ? undefined : resolve(cwd, env.BACKUP_DIR),
    backupEvery: env.BACKUP_EVERY,
    backupKeep: env.BACKUP_KEEP,
    backupPassphrase: env.BACKUP_PASSPHRASE,
    keepResults: env.KEEP_RESULTS === 'on',
    keyExport: env.KEY_EXPORT === 'on',
    corsOrigins: Object.freeze(env.CORS_ORIGINS),
    role: env.ROLE,
    workers: env.WORKERS,
    identityCache: env.IDENTITY_CACHE,
    apnsHost: env.APNS_HOST,
    apnsCaFile: env.APNS_CA_FILE === undefined ? undefined : resolve(cwd, env.APNS_CA_FILE),
    depHost: env.DEP_HOST,
    depCaFile: env.DEP_CA_FILE === undefined ? undefined : resolve(cwd, env.DEP_CA_FILE),
    depSyncInterval: env.DEP_SYNC_INTERVAL,
    lab: env.LAB === 'on',
    inventoryInterval: env.INVENTORY_INTERVAL,
    confirmAbove: env.CONFIRM_ABOVE,
    confirmRemovals: env.CONFIRM_REMOVALS,
    credentialsPerMinute: env.CREDENTIALS_PER_MINUTE,
    logLevel: env.LOG_LEVEL,
  };
}
